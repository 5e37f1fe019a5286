"""CUDA C++ to machine code: NVRTC through `cuda.core.Program`, its headers, and the cache. Needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from .._util.arguments import as_flag, as_text
from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.targets import TARGET_VERSIONS, PtxVersion, check_target, cuda_release, newest_of_cuda
from .cache import key_of, read_entry, write_entry
from .cuda_python import INSTALL, Program, load
from .standard_headers import STANDARD_HEADERS

#: What NVRTC's messages and `.loc` call a source that is in no file.
SOURCE_NAME = "ptxlab.cu"


@lru_cache(maxsize=1)
def compiler_version() -> tuple[int, int]:
    """The version of NVRTC, e.g. (13, 0); an error says what to install where there is none."""
    # cuda.core has no name for NVRTC's version.
    nvrtc = load("cuda.bindings.nvrtc")
    try:
        code, major, minor = nvrtc.nvrtcVersion()
    except Exception:  # NVRTC is missing; the type of the error depends on the version of the bindings
        raise PtxlabError(f"NVRTC, CUDA's run-time compiler, is not installed: {INSTALL}") from None
    if int(code) != 0:
        raise PtxlabError(f"NVRTC does not report its version ({code.name}): {INSTALL}")
    return int(major), int(minor)


def check_compiler(form: Form, target: str) -> None:
    """Refuse a form that this NVRTC is too old for; older drivers load what a newer one makes."""
    _check_version(form.ptx_version_for(target), f"{form.mnemonic} for {target}")


def _check_version(needed: PtxVersion, what: str) -> None:
    release = compiler_version()
    if newest_of_cuda(release) >= needed:
        return
    first = cuda_release(needed)
    package = f"nvidia-cuda-nvrtc>={first},<{int(first.split('.')[0]) + 1}"
    raise PtxlabError(
        f"{what} needs PTX ISA {needed} (CUDA {first}), NVRTC here is that of CUDA "
        f'{release[0]}.{release[1]}: pip install "{package}"'
    )


def compile(source: str, target: str, *, include_mma: bool = False, cache: bool = True) -> bytes:
    """CUDA C++ -> CUBIN for a target, through NVRTC and the cache; needs no GPU.

    Machine code, not PTX: a driver of the same CUDA generation loads it however new the compiler is.

    `include_mma` lets the source include <mma.h>. With `cache=False` the cache is neither read nor written.

    >>> compile("__global__ void nothing() {}", "sm_90a")[1:4]
    b'ELF'
    """
    _check_source(source)
    include_mma, cache = as_flag(include_mma, "include_mma"), as_flag(cache, "cache")
    _check_version(TARGET_VERSIONS[check_target(target)], target)
    major, minor = compiler_version()
    entry = f"{key_of(source, target, str(include_mma), str(major), str(minor))}.cubin"
    cubin = read_entry(entry) if cache else None
    if cubin is None:
        cubin = _compile_with_nvrtc(source, target, include_mma)
        if cache:
            write_entry(entry, cubin)
    return cubin


def _compile_with_nvrtc(source: str, target: str, include_mma: bool) -> bytes:
    core = load("cuda.core")
    options = core.ProgramOptions(
        name=SOURCE_NAME,
        arch=target,  # without it cuda.core asks the driver
        std="c++17",
        device_as_default_execution_space=True,
        include_path=list(_header_folders()) if include_mma else None,
    )
    program: Program = core.Program(source, "c++", options)
    try:
        return bytes(program.compile("cubin").code)
    except Exception as error:  # cuda.core has no public name for its NVRTCError
        raise _refusal(target, _log(program) or str(error)) from None
    finally:
        program.close()


def compile_ptx(
    source: str,
    target: str,
    options: Sequence[str] = (),
    name: str | None = None,
    file: str = SOURCE_NAME,
) -> tuple[str, str | None]:
    """CUDA C++ -> PTX for a target, through NVRTC and the cache; needs no GPU.

    Lines of the source are kept (`.loc`), as those of `file`. For a `name` with template arguments or a
    namespace the second result is its name in the PTX.

    >>> text, _ = compile_ptx('extern "C" __global__ void nothing() {}', "sm_90a")
    >>> ".entry nothing" in text
    True
    """
    text, lowered = _compiled(source, target, options, name, "ptx", file)
    return text.decode(), lowered


def compile_kernel(
    source: str, target: str, options: Sequence[str] = (), name: str | None = None
) -> tuple[bytes, str | None]:
    """As `compile_ptx`, to machine code."""
    return _compiled(source, target, options, name, "cubin")


#: `--no-cache` comes with them: NVRTC's own cache gives the same machine code with and without
#: `--use_fast_math`. As nvcc does, <math.h> is included, for INFINITY and NAN.
_KERNEL_FLAGS = ("-std=c++17", "--device-as-default-execution-space", "-lineinfo", "--pre-include=math.h")


def _compiled(
    source: str,
    target: str,
    options: Sequence[str],
    name: str | None,
    output: Literal["ptx", "cubin"],
    file: str = SOURCE_NAME,
) -> tuple[bytes, str | None]:
    """PTX or machine code with line numbers, from the cache or from NVRTC; the name of a template in it."""
    _check_source(source)
    _check_version(TARGET_VERSIONS[check_target(target)], target)
    major, minor = compiler_version()
    expression = name if name is not None and ("<" in name or "::" in name) else None
    headers = "".join(STANDARD_HEADERS.values())
    version = f"{major}.{minor}"
    parts = (source, file, target, version, expression or "", headers, *_KERNEL_FLAGS, *options)
    entry = f"{key_of(*parts)}.{output}"
    stored = read_entry(entry)
    if stored is not None:
        lowered, _, code = stored.partition(b"\n")
        return code, lowered.decode() or None
    code, lowered_name = _run_nvrtc(source, file, target, options, expression, output)
    write_entry(entry, (lowered_name or "").encode() + b"\n" + code)
    return code, lowered_name


def _run_nvrtc(
    source: str,
    file: str,
    target: str,
    options: Sequence[str],
    expression: str | None,
    output: Literal["ptx", "cubin"],
) -> tuple[bytes, str | None]:
    """cuda.core asks the driver when it is to give PTX; the bindings do not."""
    nvrtc = load("cuda.bindings.nvrtc")
    headers = {name.encode(): text.encode() for name, text in STANDARD_HEADERS.items()}
    code, program = nvrtc.nvrtcCreateProgram(
        source.encode(), file.encode(), len(headers), list(headers.values()), list(headers)
    )
    if int(code) != 0:
        raise PtxlabError(f"NVRTC does not take the source ({code.name})")
    flags = [
        f"-arch={target.replace('sm_', 'compute_') if output == 'ptx' else target}",
        *_KERNEL_FLAGS,
        *(["--no-cache"] if compiler_version() >= (13, 0) else []),
        *(f"-I{folder}" for folder in _folders_if_any()),
        *options,
    ]
    try:
        if expression is not None:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        (code,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if int(code) != 0:
            raise _refusal(target, _log_of(program) or code.name)
        ask_size, ask = nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX
        if output == "cubin":
            ask_size, ask = nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN
        _, size = ask_size(program)
        result = bytearray(size)  # not bytes: NVRTC writes into it
        ask(program, result)
        lowered = None
        if expression is not None:
            code, name = nvrtc.nvrtcGetLoweredName(program, expression.encode())
            if int(code) == 0:
                lowered = name.decode()
        return (bytes(result).rstrip(b"\0") if output == "ptx" else bytes(result)), lowered
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _folders_if_any() -> tuple[str, ...]:
    """Folders with CUDA's headers; a source that includes none does not need them."""
    try:
        return _header_folders()
    except PtxlabError:
        return ()


def _check_source(source: str) -> None:
    text = as_text(source, "source")
    try:
        text.encode()
    except UnicodeEncodeError:
        is_utf8 = False
    else:
        is_utf8 = True
    if "\0" in text or not is_utf8:
        raise PtxlabError("source: it has letters that no compiler reads: NUL, or half of a surrogate pair")


def _refusal(target: str, log: str) -> PtxlabError:
    """The first thing that NVRTC objects to, in one sentence; all that it wrote follows in the traceback."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line), lines[0] if lines else "it does not say why")
    refusal = PtxlabError(f"NVRTC does not compile this for {target}: {first[:200]}")
    refusal.add_note(log)
    return refusal


def _log(program: Program) -> str:
    """What NVRTC wrote about a program. cuda.core hands its log out only after a success."""
    return _log_of(program.handle)


def _log_of(handle: object) -> str:
    nvrtc = load("cuda.bindings.nvrtc")
    code, size = nvrtc.nvrtcGetProgramLogSize(handle)
    if int(code) != 0:
        return ""
    log = bytearray(size)  # not bytes: NVRTC writes into it
    nvrtc.nvrtcGetProgramLog(handle, log)
    return bytes(log).rstrip(b"\0").decode(errors="replace").strip()


@lru_cache(maxsize=1)
def _header_folders() -> tuple[str, ...]:
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
