"""CUDA C++ to PTX through Clang: the one in PyPI's ziglang, or in a browser's tab one in WebAssembly.

Clang knows the words of CUDA from ptxlab's own header, `cuda_for_clang.h`; nothing of NVIDIA's is needed.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path, PurePosixPath

from ..errors import PtxlabError, quoted
from ..isa.targets import TARGET_VERSIONS, PtxVersion, check_target
from .clang_in_tab import NotFetched, find_clang
from .compiler import MAX_LOG, SOURCE_NAME, check_text, reads_only
from .cuda_python import INSTALL_CLANG
from .disk_cache import key_of, read_entry, write_entry
from .standard_headers import LIBRARY_HEADERS, STANDARD_HEADERS
from .unknown_names import remedy

#: Runs Clang in a browser's tab: its arguments and the files it reads -> the text of LLVM IR that it writes.
TabCompiler = Callable[[list[str], Mapping[str, str]], str]
#: LLVM IR and a target -> PTX.
Translator = Callable[[str, str], str]

_tab_compiler: TabCompiler | None = find_clang()

_HEADER = "cuda_for_clang.h"
_SOURCE, _IR, _PTX, _FOLDER = "kernel.cu", "kernel.ll", "kernel.ptx", "headers"
#: Headers of CUDA whose contents the header has in any case.
_CUDA_HEADERS = (
    "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "device_functions.h",
    "math_constants.h", "math_functions.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_intrinsics.h",
    "sm_61_intrinsics.h", "vector_functions.h", "vector_types.h", "crt/device_functions.h", "builtin_types.h",
    "device_atomic_functions.h", "host_defines.h", "driver_types.h", "nvfunctional",
)  # fmt: skip
#: Headers that a part of the header stands for: the macro that turns the part on.
_PARTS = {
    "cuda_fp16.h": "PTXLAB_FP16",
    "cuda_bf16.h": "PTXLAB_BF16",
    "cuda_fp8.h": "PTXLAB_FP8",
    "cooperative_groups.h": "PTXLAB_GROUPS",
    "cooperative_groups/reduce.h": "PTXLAB_GROUPS",
    "cooperative_groups/memcpy_async.h": "PTXLAB_GROUPS",
    "cuda_pipeline.h": "PTXLAB_PIPELINE",
    "cuda_pipeline_primitives.h": "PTXLAB_PIPELINE",
    "cuda_awbarrier.h": "PTXLAB_BARRIER",
    "cuda/barrier": "PTXLAB_BARRIER",
    "cuda/pipeline": "PTXLAB_BARRIER",
    **dict.fromkeys(
        [prefix + name for name in (*LIBRARY_HEADERS, "algorithm", "cmath") for prefix in ("", "cuda/std/")],
        "PTXLAB_STD",
    ),
}
#: Headers that it cannot stand for, and what to write instead.
_LACKING = {
    "mma.h": "write mma.sync as inline PTX",
    "cuda_fp4.h": "write cvt as inline PTX",
    "cuda_fp6.h": "write cvt as inline PTX",
    "cuda/atomic": "use atomicAdd and kin",
    "cuda/ptx": "write inline PTX",
    "cuda/annotated_ptr": "use plain pointers",
    "cooperative_groups/scan.h": "write the scan with __shfl_up_sync",
    "cub/cub.cuh": "write the loop, with __shfl_down_sync",
    "curand_kernel.h": "pass random numbers as an array",
    "cute/tensor.hpp": "write inline PTX",
    "cutlass/cutlass.h": "write inline PTX",
    "thrust/device_vector.h": "pass pointers to the kernel",
    **dict.fromkeys(("cuda/std/array", "array"), "use a plain array or a struct"),
    **dict.fromkeys(("cuda/std/complex", "complex"), "use float2"),
    **dict.fromkeys(("cuda/std/tuple", "tuple"), "use a struct"),
    **dict.fromkeys(("cuda/std/functional", "functional"), "use a lambda or a struct"),
}
_HOST_FUNCTION = "__host__ function"
_OUR_HEADER = "ptxlab's header for Clang has no"
_EXPRESSION = "ptxlab_expression"  # the variable that has the address of a named kernel


def use_tab_compiler(compile: TabCompiler | None) -> None:
    """Make `compile` the compiler of this browser tab; None takes it away.

    It gets Clang's arguments, which begin with -cc1 and name the file to write, and the files that Clang
    reads, by path. It returns the text of LLVM IR. If Clang refuses the source, it raises a `PtxlabError`
    with Clang's messages; if there is no Clang to ask, a `NotFetched`.
    """
    global _tab_compiler
    _tab_compiler = compile


def clang_version() -> str:
    """Clang's version, e.g. "22.1.8", or "22" in a tab; if it is missing, the error says what to install."""
    if _tab_compiler is not None:
        return "22"
    return _version_of(_find_program())


@lru_cache(maxsize=2)
def _version_of(program: str) -> str:
    try:
        shown = subprocess.run(
            [program, "clang", "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PtxlabError(
            f"Clang in ziglang does not start ({type(error).__name__}): {INSTALL_CLANG}"
        ) from None
    version = re.search(r"clang version (\d+(?:\.\d+)*)", shown.stdout)
    if version is None:
        raise PtxlabError(f"ziglang has no Clang that says its version: {INSTALL_CLANG}")
    return version[1]


def _find_program() -> str:
    """The program in PyPI's ziglang that contains Clang."""
    package = importlib.util.find_spec("ziglang")
    if package is not None and package.submodule_search_locations:
        for folder in package.submodule_search_locations:
            program = Path(folder, "zig.exe" if sys.platform == "win32" else "zig")
            if program.is_file():
                return str(program)
    raise PtxlabError(f"Clang is not installed: {INSTALL_CLANG}")


@lru_cache(maxsize=1)
def header_files() -> dict[str, str]:
    """Every header that Clang finds, by the name in `#include`: ptxlab's, and those that lead to it."""
    text = resources.files(__package__).joinpath(_HEADER).read_text(encoding="utf-8")
    return {
        **{name: text for name, text in STANDARD_HEADERS.items() if name not in LIBRARY_HEADERS},
        **dict.fromkeys(_CUDA_HEADERS, "#pragma once\n"),
        **{
            name: f'#pragma once\n#define {part}\n#include "{"../" * name.count("/")}{_HEADER}"\n'
            for name, part in _PARTS.items()
        },
        **{
            name: f'#error "{_OUR_HEADER} <{name}>: {instead}, or compile with NVRTC"\n'
            for name, instead in _LACKING.items()
        },
        _HEADER: text,
    }


def arguments(target: str, options: Sequence[str] = ()) -> list[str]:
    """Clang's arguments for a target and options as NVRTC takes them, without the names of files.

    >>> arguments("sm_90a", ["-DTILE=64"])[-2:]
    ['-D', 'TILE=64']
    """
    since = TARGET_VERSIONS[check_target(target)]
    version = max(since, _PTX_VERSION)
    macros, switches = _read_options(options)
    fast = switches["use_fast_math"]
    flush = fast if switches["ftz"] is None else switches["ftz"]
    rough_division = fast if switches["prec-div"] is None else not switches["prec-div"]
    rough_root = fast if switches["prec-sqrt"] is None else not switches["prec-sqrt"]
    flags = [
        "-cc1", "-triple", "nvptx64-nvidia-cuda", "-target-cpu", target,
        "-target-feature", f"+ptx{version.major}{version.minor}", "-O2", "-w", "-mllvm", _UNROLLING,
        f"-ffp-contract={'off' if switches['fmad'] is False else 'fast'}",
    ]  # fmt: skip
    if rough_division and _tab_compiler is None:
        flags += ["-mllvm", "-nvptx-prec-divf32=1"]  # division is div.full, as in NVRTC
    flags += [
        _FRONT_END, "-fms-extensions", f"-std={switches['std']}", "-x", "cuda",
        "-debug-info-kind=line-directives-only", "-nostdsysteminc", "-nobuiltininc",
        # a variable that some threads never write may be handed on, to a shuffle for example, as with NVRTC
        "-no-enable-noundef-analysis",
        "-isystem", _FOLDER, "-include", f"{_FOLDER}/{_HEADER}", "-D", "__CUDACC__", "-D", "__CUDACC_RTC__",
    ]  # fmt: skip
    if switches["rdc"]:
        flags += ["-fgpu-rdc"]
    if flush:
        flags += ["-fdenormal-fp-math-f32=preserve-sign,preserve-sign", "-D", "PTXLAB_FTZ"]
    if rough_division and _tab_compiler is not None:
        flags += ["-fapprox-func"]  # a mark of LLVM IR, which the translator reads
    if rough_root:
        flags += ["-D", "PTXLAB_APPROXIMATE_ROOT"]
    if fast:
        flags += ["-D", "PTXLAB_FAST_MATH"]
    return [*flags, *macros]


#: The first argument that concerns C++ alone: those before it are for Clang's back end, too.
_FRONT_END = "-fcuda-is-device"
#: As NVRTC, Clang unrolls loops whose arrays can then be registers.
_UNROLLING = "-unroll-threshold=2000"
#: The PTX ISA of Clang's output, for targets that need no later one: every driver of CUDA 13 knows it.
_PTX_VERSION = PtxVersion(8, 8)
_SWITCHES = {
    "use_fast_math": "use_fast_math", "ftz": "ftz", "prec-div": "prec-div", "prec-sqrt": "prec-sqrt",
    "fmad": "fmad", "rdc": "rdc", "relocatable-device-code": "rdc",
}  # fmt: skip
#: Options of NVRTC that ask for what Clang does in any case.
_GRANTED = {
    "lineinfo", "generate-line-info", "w", "disable-warnings", "default-device",
    "device-as-default-execution-space", "no-cache", "device-int128", "m64",
}  # fmt: skip
_MACROS = {
    "D": "-D",
    "define-macro": "-D",
    "U": "-U",
    "undefine-macro": "-U",
    "I": "-I",
    "include-path": "-I",
}


def _read_options(options: Sequence[str]) -> tuple[list[str], dict[str, bool | str | None]]:
    """Macros and folders as Clang takes them, and the values of the other options."""
    switches: dict[str, bool | str | None] = dict.fromkeys(_SWITCHES.values())
    switches["std"] = "c++17"
    macros: list[str] = []
    rest = list(options)
    while rest:
        option = check_text(rest.pop(0), "options")
        name, equals, value = option.lstrip("-").partition("=")
        if option[:2] in ("-D", "-U", "-I") and not option.startswith("--"):
            name, value = option[1], option[2:]
            equals = value
        if not option.startswith("-"):
            name = ""
        if name in _MACROS and (equals or rest):
            value = value if equals else check_text(rest.pop(0), "options")
            macros += [_MACROS[name], str(Path(value).resolve()) if _MACROS[name] == "-I" else value]
        elif name == "std" and re.fullmatch(r"c\+\+(11|14|17|20|23)", value):
            switches["std"] = value
        elif name in _SWITCHES and value in ("", "true", "false"):
            switches[_SWITCHES[name]] = value != "false"
        elif name not in _GRANTED:
            raise PtxlabError(
                f"options: found {quoted(option)}; Clang takes -D, -U, -I, --std, --use_fast_math, --ftz, "
                "--fmad, --prec-div, --prec-sqrt and --relocatable-device-code of NVRTC's options"
            )
    return macros, switches


def compile_ptx(
    source: str,
    target: str,
    options: Sequence[str] = (),
    name: str | None = None,
    file: str = SOURCE_NAME,
    *,
    translate: Translator | None = None,
) -> tuple[str, str | None]:
    """CUDA C++ -> PTX for a target, through Clang and the cache.

    As `compiler.compile_ptx`, with the same results. In a browser's tab `translate` makes PTX of LLVM IR.
    """
    check_text(source, "source")
    check_text(name or "", "name")
    flags = arguments(target, options)
    version = clang_version()
    expression = name if name is not None and ("<" in name or "::" in name) else None
    headers = header_files()
    cache = _tab_compiler is None and "-I" not in flags
    cache = cache and reads_only("\n".join((source, expression or "", *options)), headers.__contains__)
    parts = (source, file, target, version, expression or "", *flags, *headers, *headers.values())
    entry = f"{key_of('clang', *parts)}.ptx"
    stored = read_entry(entry) if cache else None
    if stored is not None:
        lowered, _, text = stored.partition(b"\n")
        return text.decode(), lowered.decode() or None
    escaped = file.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    whole = f'#line 1 "{escaped}"\n{source}\n'
    if expression is not None:
        whole += (
            '#line 1 "the name of the kernel"\n'
            f'extern "C" __device__ const void* {_EXPRESSION} = (const void*)&({expression});\n'
        )
    files = {_SOURCE: whole} | {f"{_FOLDER}/{name}": text for name, text in headers.items()}
    has_clusters = "__cluster_dims__" in source
    try:
        ptx = _run(files, flags, target, file, translate, has_clusters)
    except PtxlabError as error:
        if not any(_HOST_FUNCTION in note for note in getattr(error, "__notes__", ())):
            raise
        # As with NVRTC, a function without __device__ is for the device, too. Clang then does not take
        # explicit instantiations of kernels, so this is not so for every source.
        try:
            ptx = _run(files, [*flags, "-D", "PTXLAB_HOST_DEVICE"], target, file, translate, has_clusters)
        except PtxlabError as second:
            raise error if "attributes are not compatible" in str(second) else second from None
    lowered_name = None
    if expression is not None:
        variable = re.search(rf"^.*\b{_EXPRESSION} = (?:generic\()?([\w$]+)\)?;\n", ptx, re.MULTILINE)
        if variable is None:
            raise PtxlabError(f"name={quoted(expression)}: Clang does not tell its name in the PTX")
        ptx, lowered_name = ptx.replace(variable[0], ""), variable[1]
    if cache:
        write_entry(entry, f"{lowered_name or ''}\n{ptx}".encode())
    return ptx, lowered_name


def _run(
    files: Mapping[str, str],
    flags: Sequence[str],
    target: str,
    file: str,
    translate: Translator | None,
    has_clusters: bool,
) -> str:
    """The PTX of the source among the files."""
    if _tab_compiler is not None:
        if translate is None:
            raise PtxlabError("in a browser's tab Clang needs a translator of LLVM IR")
        try:
            ir = _tab_compiler([*flags, "-emit-llvm", _SOURCE, "-o", _IR], files)
        except NotFetched:
            raise
        except PtxlabError as error:
            raise _refusal(target, str(error), file, files[_SOURCE]) from None
        return _with_clusters(translate(ir, target), ir)
    with tempfile.TemporaryDirectory(prefix="ptxlab-") as folder:
        for name, text in files.items():
            path = Path(folder, *PurePosixPath(name).parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        front_end = [*flags, "-iquote", str(Path.cwd())]
        back_end = flags[: flags.index(_FRONT_END)]
        ir = ""
        if has_clusters:  # only the LLVM IR has them
            _run_program([*front_end, "-emit-llvm", _SOURCE, "-o", _IR], folder, target, file, files)
            ir = Path(folder, _IR).read_text(encoding="utf-8")
            command = [*back_end, "-x", "ir", "-disable-llvm-passes", "-S", _IR, "-o", _PTX]
        else:
            command = [*front_end, "-S", _SOURCE, "-o", _PTX]
        _run_program(command, folder, target, file, files)
        ptx = Path(folder, _PTX).read_text(encoding="utf-8")
    return _with_clusters(_tidied(ptx), ir)


def _tidied(ptx: str) -> str:
    """PTX without declarations of kernels that are defined further down, and without lines numbered 0.

    Clang gives the number 0 to an instruction that has no line; without it, it has that of the one before.
    """
    ptx = re.sub(r"^\.visible \.entry [\w$]+\n\((?:[^()]|\n)*\)\n;\n", "", ptx, flags=re.MULTILINE)
    return re.sub(r"^\s*\.loc\s+\d+ 0 .*\n", "", ptx, flags=re.MULTILINE)


def _run_program(words: Sequence[str], folder: str, target: str, file: str, files: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            [_find_program(), "clang", *words], cwd=folder, capture_output=True, check=False
        )
    except OSError as error:
        raise PtxlabError(
            f"Clang in ziglang does not start ({type(error).__name__}): {INSTALL_CLANG}"
        ) from None
    if done.returncode:
        raise _refusal(target, done.stderr.decode(errors="replace"), file, files[_SOURCE])


_ANNOTATED = re.compile(r"\{ ptr @([\w.$]+), ptr @([\w.$]+), ptr @[\w.$]+, i32 \d+, ptr @([\w.$]+) \}")


def _with_clusters(ptx: str, ir: str) -> str:
    """PTX with the clusters of kernels, which Clang writes into LLVM IR as annotations alone."""
    table = re.search(r"^@llvm\.global\.annotations = .*$", ir, re.MULTILINE)
    for kernel, kind, values in _ANNOTATED.findall(table[0] if table else ""):
        annotation = re.search(rf'^@{re.escape(kind)} = .* c"ptxlab_cluster\\00"', ir, re.MULTILINE)
        numbers = re.search(rf"^@{re.escape(values)} = .* (\{{ i32 .*? \}})", ir, re.MULTILINE)
        if annotation is None or numbers is None:
            continue
        sizes = [*re.findall(r"i32 (\d+)", numbers[1].split("}")[-2]), "1", "1"][:3]
        begins = re.search(rf"^\.visible \.entry {re.escape(kernel)}\((?:[^()]|\n)*\)", ptx, re.MULTILINE)
        if begins is not None:
            directive = f"\n.explicitcluster\n.reqnctapercluster {', '.join(sizes)}"
            ptx = ptx[: begins.end()] + directive + ptx[begins.end() :]
    return ptx


_MESSAGE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_NOTE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):\d+: note: ", re.MULTILINE)
_INCLUDED = re.compile(r"^In file included from (?P<file>.+?):(?P<line>\d+):$", re.MULTILINE)
_CANDIDATE = re.compile(r": note: candidate .*?: (.*)$", re.MULTILINE)
_CONVERSION = re.compile(r"(no known conversion from '.*?' to )('.*?')( for \d\w+ argument)")


def _refusal(target: str, log: str, file: str, source: str) -> PtxlabError:
    """Clang's first error in one sentence, with the reader's line; its whole log is a note of the exception.

    An error within a header has the line of the reader's `#include` or call. The first line of `source` is
    not the reader's: it says where the text is from.
    """
    log = log.strip()
    message = _MESSAGE.search(log)
    if message is None:
        first_error = next(
            (line for line in log.splitlines() if "error" in line), log.splitlines()[0] if log else ""
        )
        sentence = first_error.strip() or "it ended without a message"
    else:
        place, line = f"{message['file']}({message['line']})", ""
        text = re.sub(r"^static assertion failed.*?: (?=\w)", "", message["text"].strip('"'))
        if message["file"].removeprefix("./").startswith(_FOLDER):
            includes = [
                include for include in _INCLUDED.finditer(log, 0, message.start()) if include["file"] == file
            ]
            calls = [note for note in _NOTE.finditer(log, message.end()) if note["file"] == file]
            outer = calls[:1] or includes[-1:]
            place = f"{file}({outer[0]['line']})" if outer else place
        elif message["file"] == file:
            line = source.splitlines()[int(message["line"])]
        advice = remedy(text, line, source, by_clang=True)
        if text.startswith("invalid % escape in inline assembly"):
            advice = "a special register is written with two, as in %%laneid"
        if advice is not None:
            text = f"{text.partition('; did you mean')[0]}; {advice}"
            text = advice if advice.startswith(_OUR_HEADER) else text
        following = _MESSAGE.search(log, message.end())
        notes = _CANDIDATE.findall(log, message.end(), following.start() if following else len(log))
        conversions = [conversion for conversion in map(_CONVERSION.match, notes) if conversion is not None]
        if len(notes) == 1:
            text = f"{text}: {notes[0]}"
        elif (
            len(conversions) == len(notes)
            and len({(conversion[1], conversion[3]) for conversion in conversions}) == 1
        ):
            types = dict.fromkeys(conversion[2] for conversion in conversions)
            text = f"{text}: {conversions[0][1]}{' or '.join(types)}{conversions[0][3]}"
        sentence = f"{place}: error: {text}"
    refusal = PtxlabError(f"Clang does not compile this for {target}: {sentence[:300]}")
    refusal.add_note(log[:MAX_LOG])
    return refusal
