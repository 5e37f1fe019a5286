"""CUDA C++ to machine code: NVRTC, its headers, and the cache. Needs no GPU."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from .._util.arguments import as_flag, as_text
from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.targets import TARGET_VERSIONS, PtxVersion, check_target, cuda_release, newest_of_cuda
from .cuda_python import INSTALL, load
from .disk_cache import key_of, read_entry, write_entry
from .standard_headers import STANDARD_HEADERS
from .unknown_names import remedy

#: The name of a source without a file in NVRTC's messages and in `.loc`.
SOURCE_NAME = "ptxlab.cu"


@lru_cache(maxsize=1)
def compiler_version() -> tuple[int, int]:
    """The version of NVRTC, e.g. (13, 0); if it is missing, the error says what to install."""
    # cuda.core does not provide NVRTC's version.
    nvrtc = load("cuda.bindings.nvrtc")
    try:
        code, major, minor = nvrtc.nvrtcVersion()
    except Exception:  # NVRTC is missing; the type of the error depends on the version of the bindings
        raise PtxlabError(f"NVRTC, CUDA's run-time compiler, is not installed: {INSTALL}") from None
    if int(code) != 0:
        raise PtxlabError(f"NVRTC does not report its version ({code.name}): {INSTALL}")
    return int(major), int(minor)


@lru_cache(maxsize=1)
def assembler_versions() -> tuple[str, str]:
    """The versions of what assembles PTX, NVRTC and nvJitLink; "" for one that is missing."""
    versions = []
    for read in (compiler_version, lambda: load("cuda.bindings.nvjitlink").version()):
        try:
            versions.append("{}.{}".format(*read()))
        except Exception:  # the type of the error depends on the version of the bindings
            versions.append("")
    return versions[0], versions[1]


def check_compiler(form: Form, target: str) -> None:
    """Refuse a form that needs a newer NVRTC.

    The driver may be older: it loads machine code of any compiler of its CUDA generation.
    """
    _check_version(form.ptx_version_for(target), f"{form.mnemonic} for {target}")


def _check_version(needed: PtxVersion, what: str) -> None:
    release = compiler_version()
    if newest_of_cuda(release) >= needed:
        return
    first = cuda_release(needed)
    major = int(first.split(".")[0])
    package = "nvidia-cuda-nvrtc-cu12" if major == 12 else "nvidia-cuda-nvrtc"
    raise PtxlabError(
        f"{what} needs PTX ISA {needed} (CUDA {first}); the installed NVRTC is that of CUDA "
        f'{release[0]}.{release[1]}: pip install "{package}>={first},<{major + 1}"'
    )


def compile(source: str, target: str, *, include_mma: bool = False, cache: bool = True) -> bytes:
    """CUDA C++ -> CUBIN for a target, through NVRTC and the cache; needs no GPU.

    Machine code, not PTX: a driver of the same CUDA generation loads it however new the compiler is.

    `include_mma` lets the source include <mma.h>. With `cache=False` the cache is neither read nor written.

    >>> compile("__global__ void nothing() {}", "sm_90a")[1:4]
    b'ELF'
    """
    check_text(source, "source")
    include_mma, cache = as_flag(include_mma, "include_mma"), as_flag(cache, "cache")
    _check_version(TARGET_VERSIONS[check_target(target)], target)
    folders = _find_headers() if include_mma else ()
    flags = (*_FLAGS, *(f"-I{folder}" for folder in folders))
    cache = cache and _reads_cuda_only(source)
    return _nvrtc_or_cache(source, SOURCE_NAME, target, flags, "cubin", cache=cache)[0]


def compile_ptx(
    source: str,
    target: str,
    options: Sequence[str] = (),
    name: str | None = None,
    file: str = SOURCE_NAME,
) -> tuple[str, str | None]:
    """CUDA C++ -> PTX for a target, through NVRTC and the cache; needs no GPU.

    `.loc` directives give the lines of the source, as those of `file`. For a `name` with template arguments
    or a namespace, the second result is its name in the PTX.

    >>> text, _ = compile_ptx('extern "C" __global__ void nothing() {}', "sm_90a")
    >>> ".entry nothing" in text
    True
    """
    text, lowered = _compile_kernel(source, target, options, name, "ptx", file)
    return text.decode(), lowered


def compile_kernel(
    source: str, target: str, options: Sequence[str] = (), name: str | None = None
) -> tuple[bytes, str | None]:
    """As `compile_ptx`, to machine code."""
    return _compile_kernel(source, target, options, name, "cubin", SOURCE_NAME)


def link_modules(texts: Sequence[str], target: str) -> bytes:
    """PTX modules -> machine code for a target, through nvJitLink or the driver.

    >>> module = ".version 8.0 .target sm_90a .address_size 64 .visible .func nothing() { ret; }"
    >>> link_modules([module], "sm_90a")[1:4]
    b'ELF'
    """
    core = load("cuda.core")
    names = ("the source", *(f"link[{number}]" for number in range(len(texts) - 1)))
    try:
        objects = [
            core.ObjectCode.from_ptx(text.encode(), name=name)
            for text, name in zip(texts, names, strict=True)
        ]
        options = core.LinkerOptions(arch=check_target(target))
        code: bytes = core.Linker(*objects, options=options).link("cubin").code
    except Exception as error:  # nvJitLink and the driver have several types
        raise PtxlabError(f"linking for {target} failed: {' '.join(str(error).split())[:400]}") from None
    return code


_FLAGS = ("-std=c++17", "--device-as-default-execution-space")
#: Like nvcc, it includes <math.h>, for INFINITY and NAN.
_KERNEL_FLAGS = (*_FLAGS, "-lineinfo", "--pre-include=math.h")


def _compile_kernel(
    source: str,
    target: str,
    options: Sequence[str],
    name: str | None,
    output: Literal["ptx", "cubin"],
    file: str,
) -> tuple[bytes, str | None]:
    """PTX or machine code with line numbers, with the user's options; the mangled name of a template."""
    check_text(source, "source")
    for text, what in ((name or "", "name"), *((option, "options") for option in options)):
        check_text(text, what)
    _check_options(options)
    _check_version(TARGET_VERSIONS[check_target(target)], target)
    expression = name if name is not None and ("<" in name or "::" in name) else None
    flags = (
        *_KERNEL_FLAGS,
        # NVRTC's own cache returns the same machine code with and without --use_fast_math
        *(["--no-cache"] if compiler_version() >= (13, 0) else []),
        "--diag-suppress=9",  # /* in a comment, which would put the whole line into the log
        *(f"-I{folder}" for folder in header_folders()),
        *options,
    )
    cache = _reads_cuda_only("\n".join((source, expression or "", *options)))
    cache = cache and not any(option.startswith("-I") for option in options)
    return _nvrtc_or_cache(source, file, target, flags, output, STANDARD_HEADERS, expression, cache=cache)


def _nvrtc_or_cache(
    source: str,
    file: str,
    target: str,
    flags: Sequence[str],
    output: Literal["ptx", "cubin"],
    headers: Mapping[str, str] = MappingProxyType({}),
    expression: str | None = None,
    *,
    cache: bool,
) -> tuple[bytes, str | None]:
    """PTX or machine code, and the mangled name of `expression`, which is the first line of a cache entry.

    `cache` is false for a source that may include other files than CUDA's own: they may change.
    """
    release = "{}.{}".format(*compiler_version())
    parts = (source, file, target, release, expression or "", "".join(headers.values()), *_header_times())
    entry = f"{key_of(*parts, *flags)}.{output}"
    stored = read_entry(entry) if cache else None
    if stored is not None:
        lowered, _, code = stored.partition(b"\n")
        return code, lowered.decode() or None
    arch = target.replace("sm_", "compute_") if output == "ptx" else target
    code, lowered_name = _run_nvrtc(
        source, file, target, [f"-arch={arch}", *flags], output, headers, expression
    )
    if cache:
        write_entry(entry, (lowered_name or "").encode() + b"\n" + code)
    return code, lowered_name


_CONTINUED_LINE = re.compile(r"(?:\\|\?\?/)[ \t\v\f]*(?:\r\n?|\n)")
#: What can name a file, also in a comment or in a macro, and what can put such a word together.
_INCLUDE = re.compile(r"\b(?:__has_)?(?:include|embed)(?:_next)?\b|\bimport\b|##|%:|\?\?=")
_PLAIN_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([\w./+-]+)>[ \t]*(?://.*)?\r?$", re.MULTILINE)


def _reads_cuda_only(text: str) -> bool:
    """Whether a compilation reads no file but CUDA's own headers; `text` is the source and its options.

    NVRTC does not tell which files it has read. So every mention of an include has to be a plain `#include`
    of a header that comes with CUDA; one that a comment, a macro or another spelling hides is none.
    """
    return reads_only(text, _is_header_of_cuda) and not os.environ.get("NVRTC_APPEND_FLAGS")


def reads_only(text: str, is_known: Callable[[str], bool]) -> bool:
    """Whether all that a source includes is plainly written and known."""
    text = _CONTINUED_LINE.sub("", text)
    names = _PLAIN_INCLUDE.findall(text)
    return len(names) == len(_INCLUDE.findall(text)) and all(map(is_known, set(names)))


def _is_header_of_cuda(name: str) -> bool:
    # macros say what the headers of Thrust include
    if ".." in name or name.startswith(("/", "thrust")):
        return False
    return name in STANDARD_HEADERS or any(Path(folder, name).is_file() for folder in header_folders())


#: Options of NVRTC 12.9 to 13.4 that only change its code and its messages. Others write files:
#: precompiled headers, the times of its phases.
_OPTIONS = (
    "arch gpu-architecture rdc relocatable-device-code dc device-c dw device-w ewp extensible-whole-program "
    "G device-debug lineinfo generate-line-info dopt Ofc Ofast-compile maxrregcount ftz prec-sqrt prec-div "
    "fmad use_fast_math extra-device-vectorization modify-stack-limit jtd jump-table-density no-cache "
    "device-stack-protector frandom-seed define-macro undefine-macro include-path include pre-include "
    "no-source-include std builtin-move-forward builtin-initializer-list w disable-warnings restrict "
    "default-device device-as-default-execution-space device-int128 device-float128 opt-info "
    "optimization-info err-no display-error-number no-err-no no-display-error-number diag-error "
    "diag-suppress diag-warn brief-diag brief-diagnostics split-compile fdevice-syntax-only minimal "
    "version-ident no-version-ident m64 Xptxas ptxas-options"
)
#: Options of the assembler, likewise.
_ASSEMBLER_OPTIONS = (
    "v verbose w disable-warnings O opt-level O0 O1 O2 O3 g device-debug Werror warning-as-error "
    "maxrregcount dlcm def-load-cache dscm def-store-cache flcm force-load-cache fscm force-store-cache fmad "
    "regUsageLevel register-usage-level warn-spills warn-on-spills warn-lmem-usage "
    "warn-on-local-memory-usage warn-double-usage warn-on-double-precision-use "
    "allow-expensive-optimizations no-bb-merge dont-merge-basicblocks sp-bounds-check lineinfo "
    "generate-line-info opt-fp-atomics optimize-float-atomics Ofc Ofast-compile c compile-only pic "
    "position-independent-code minnctapersm maxntid split-compile"
)
_ASSEMBLER = ("-Xptxas", "--ptxas-options")


def _check_options(options: Sequence[str]) -> None:
    """Refuse options that write files, wherever they stand, and those that are not known not to."""
    before = ""
    for option in options:
        name, _, value = option.partition("=")
        if name in _ASSEMBLER and value:
            is_known = _is_one_of(value, _ASSEMBLER_OPTIONS)
        elif before in _ASSEMBLER:
            is_known = _is_one_of(option, _ASSEMBLER_OPTIONS)
        else:
            # what has no hyphen is the value of the option before it; macros and folders need no space
            is_known = (
                not name.startswith("-") or name[:2] in ("-D", "-U", "-I") or _is_one_of(name, _OPTIONS)
            )
        if not is_known:
            raise PtxlabError(
                f"options: found {quoted(option)}; they take NVRTC's options for its code and its messages, "
                "such as -DTILE=64 or --use_fast_math, and none that writes a file"
            )
        before = option


def _is_one_of(option: str, names: str) -> bool:
    return option.partition("=")[0].lstrip("-") in names.split()


def _run_nvrtc(
    source: str,
    file: str,
    target: str,
    flags: Sequence[str],
    output: Literal["ptx", "cubin"],
    headers: Mapping[str, str] = MappingProxyType({}),
    expression: str | None = None,
) -> tuple[bytes, str | None]:
    """PTX or machine code, and the mangled name of `expression` in it.

    It does not use cuda.core, which needs a driver for PTX.
    """
    if expression is not None:
        # With a name, NVRTC 13.0 ends the process at errors such as a missing quote: find them without it.
        _run_nvrtc(source, file, target, flags, "ptx", headers)
    nvrtc = load("cuda.bindings.nvrtc")
    names, texts = [name.encode() for name in headers], [text.encode() for text in headers.values()]
    code, program = nvrtc.nvrtcCreateProgram(source.encode(), file.encode(), len(names), texts, names)
    if int(code) != 0:
        raise PtxlabError(f"NVRTC does not take the source ({code.name})")
    try:
        if expression is not None:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        (code,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if int(code) != 0:
            raise _refusal(target, _log(program) or code.name, file, source)
        get_size, get_output = nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX
        if output == "cubin":
            get_size, get_output = nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN
        code, size = get_size(program)
        if int(code) == 0:
            result = bytearray(size)  # not bytes: NVRTC writes into it
            (code,) = get_output(program, result)
        if int(code) != 0:
            raise PtxlabError(f"NVRTC does not return what it compiled for {target} ({code.name})")
        lowered = None
        if expression is not None:
            code, name = nvrtc.nvrtcGetLoweredName(program, expression.encode())
            if int(code) == 0:
                lowered = name.decode()
        return (bytes(result).rstrip(b"\0") if output == "ptx" else bytes(result)), lowered
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def header_folders() -> tuple[str, ...]:
    """Folders with CUDA's headers; () if they are not installed, since a source may not need them."""
    try:
        return _find_headers()
    except PtxlabError:
        return ()


def _header_times() -> tuple[str, ...]:
    """When the folders of CUDA's headers last changed, as a newer package of them makes them do."""
    return tuple(str(Path(folder).stat().st_mtime_ns) for folder in header_folders())


def check_text(value: str, what: str) -> str:
    """A text that a compiler can read."""
    text = as_text(value, what)
    if _UNREADABLE.search(text):
        raise PtxlabError(f"{what}: it has characters that no compiler reads: NUL, or half a surrogate pair")
    return text


_UNREADABLE = re.compile("[\0\ud800-\udfff]")
#: Characters of a compiler's log that an error carries.
MAX_LOG = 1 << 16


def _refusal(target: str, log: str, file: str, source: str) -> PtxlabError:
    """NVRTC's first error, in one sentence; its whole log is a note of the exception."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    at = next((number for number, line in enumerate(lines) if "error" in line), 0)
    place = lines[at].partition(": ")[0]
    if lines[at].endswith("does not apply here"):  # because the type of a parameter is not known
        same_place = [number for number, line in enumerate(lines) if line.startswith(f"{place}: error: ")]
        at = next((number for number in same_place if lines[number].endswith(" is undefined")), at)
    text = lines[at].removeprefix(f"{place}: ")
    if at + 1 < len(lines) and lines[at + 1].startswith("argument types are: "):
        text += f"; {lines[at + 1]}"
    read = re.fullmatch(rf"{re.escape(file)}\((\d+)\)", place)
    advice = remedy(text, source.splitlines()[int(read[1]) - 1] if read else "", source, by_clang=False)
    if advice is not None:
        text += f"; {advice}"
    for folder in header_folders():
        place = place.removeprefix(f"{folder}/").removeprefix("cccl/")
    sentence = f"{place}: {text}" if text != place else place
    refusal = PtxlabError(f"NVRTC does not compile this for {target}: {sentence[:300]}")
    refusal.add_note(log[:MAX_LOG])
    return refusal


def _log(program: object) -> str:
    """NVRTC's log of a program."""
    nvrtc = load("cuda.bindings.nvrtc")
    code, size = nvrtc.nvrtcGetProgramLogSize(program)
    if int(code) != 0:
        return ""
    log = bytearray(size)  # not bytes: NVRTC writes into it
    nvrtc.nvrtcGetProgramLog(program, log)
    return bytes(log).rstrip(b"\0").decode(errors="replace").strip()


@lru_cache(maxsize=1)
def _find_headers() -> tuple[str, ...]:
    """Folders with <mma.h> and what it includes."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory
    except ImportError:
        raise PtxlabError(f"the CUDA headers cannot be found: {INSTALL}") from None
    folders = [find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    if not _has_mma(folders):  # CUDA 12 keeps crt/ with nvcc
        folders.append(find_nvidia_header_directory("nvcc"))
    if not _has_mma(folders):
        raise PtxlabError(
            f"<mma.h> is not installed (package nvidia-cuda-crt): {INSTALL}; inline PTX needs no header"
        )
    return tuple(folder for folder in folders if folder)


def _has_mma(folders: Sequence[str | None]) -> bool:
    return any((Path(folder) / "crt" / "mma.h").exists() for folder in folders if folder)
