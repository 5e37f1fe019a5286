"""CUDA C++ to machine code: NVRTC, its headers, and the cache. Needs no GPU."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from .._util.arguments import as_flag, as_text
from .._util.files import cache_folder, write_atomically
from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.targets import TARGET_VERSIONS, PtxVersion, check_target, cuda_release, newest_of_cuda
from .cuda_python import INSTALL, load

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
    _check_text(source, "source")
    include_mma, cache = as_flag(include_mma, "include_mma"), as_flag(cache, "cache")
    _check_version(TARGET_VERSIONS[check_target(target)], target)
    major, minor = compiler_version()
    headers = _header_times() if include_mma else ()
    entry = f"{key_of(source, target, str(include_mma), str(major), str(minor), *headers)}.cubin"
    cache = cache and _reads_cuda_only(source)
    cubin = read_entry(entry) if cache else None
    if cubin is None:
        folders = _find_headers() if include_mma else ()
        flags = [f"-arch={target}", *_FLAGS, *(f"-I{folder}" for folder in folders)]
        cubin, _ = _run_nvrtc(source, SOURCE_NAME, target, flags, "cubin")
        if cache:
            write_entry(entry, cubin)
    return cubin


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
    text, lowered = _compiled(source, target, options, name, "ptx", file)
    return text.decode(), lowered


def compile_kernel(
    source: str, target: str, options: Sequence[str] = (), name: str | None = None
) -> tuple[bytes, str | None]:
    """As `compile_ptx`, to machine code."""
    return _compiled(source, target, options, name, "cubin")


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


def _compiled(
    source: str,
    target: str,
    options: Sequence[str],
    name: str | None,
    output: Literal["ptx", "cubin"],
    file: str = SOURCE_NAME,
) -> tuple[bytes, str | None]:
    """PTX or machine code with line numbers, from the cache or from NVRTC; the mangled name of a template.

    A source that may include other files than CUDA's own is not cached: they may change.
    """
    _check_text(source, "source")
    for text, what in ((name or "", "name"), *((option, "options") for option in options)):
        _check_text(text, what)
    _check_options(options)
    _check_version(TARGET_VERSIONS[check_target(target)], target)
    major, minor = compiler_version()
    expression = name if name is not None and ("<" in name or "::" in name) else None
    headers = "".join(STANDARD_HEADERS.values())
    folders = [f"-I{folder}" for folder in header_folders()]
    parts = (source, file, target, f"{major}.{minor}", expression or "", headers, *_header_times())
    entry = f"{key_of(*parts, *_KERNEL_FLAGS, *folders, *options)}.{output}"
    cache = _reads_cuda_only("\n".join((source, expression or "", *options)))
    cache = cache and not any(option.startswith("-I") for option in options)
    stored = read_entry(entry) if cache else None
    if stored is not None:
        lowered, _, code = stored.partition(b"\n")
        return code, lowered.decode() or None
    flags = [
        f"-arch={target.replace('sm_', 'compute_') if output == 'ptx' else target}",
        *_KERNEL_FLAGS,
        # NVRTC's own cache returns the same machine code with and without --use_fast_math
        *(["--no-cache"] if (major, minor) >= (13, 0) else []),
        "--diag-suppress=9",  # /* in a comment, which would put the whole line into the log
        *folders,
        *options,
    ]
    code, lowered_name = _run_nvrtc(source, file, target, flags, output, STANDARD_HEADERS, expression)
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
    text = _CONTINUED_LINE.sub("", text)
    names = _PLAIN_INCLUDE.findall(text)
    only_plain = len(names) == len(_INCLUDE.findall(text)) and not os.environ.get("NVRTC_APPEND_FLAGS")
    return only_plain and all(map(_is_header_of_cuda, set(names)))


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
            known = _is_one_of(value, _ASSEMBLER_OPTIONS)
        elif before in _ASSEMBLER:
            known = _is_one_of(option, _ASSEMBLER_OPTIONS)
        else:
            # what has no hyphen is the value of the option before it; macros and folders need no space
            known = not name.startswith("-") or name[:2] in ("-D", "-U", "-I") or _is_one_of(name, _OPTIONS)
        if not known:
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
            raise _refusal(target, _log(program) or code.name)
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


def _check_text(value: str, what: str) -> None:
    text = as_text(value, what)
    if _UNREADABLE.search(text):
        raise PtxlabError(f"{what}: it has characters that no compiler reads: NUL, or half a surrogate pair")


_UNREADABLE = re.compile("[\0\ud800-\udfff]")
_MAX_LOG = 1 << 16  # characters of NVRTC's log that an error carries


def _refusal(target: str, log: str) -> PtxlabError:
    """NVRTC's first error, in one sentence; its whole log is a note of the exception."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line), lines[0])
    refusal = PtxlabError(f"NVRTC does not compile this for {target}: {first[:200]}")
    refusal.add_note(log[:_MAX_LOG])
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


# -- compiled kernels and their listings, kept on disk -----------------------------------------------------


_MAGIC = b"ptxlab-cubin-2\n"
_DIGEST_BYTES = 32


def key_of(*parts: str) -> str:
    """The name of a cache entry from what it depends on: source, target, compiler version, and so on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_entry(name: str) -> bytes | None:
    """The content of an entry; None if it is absent, damaged, or another user might have written it."""
    try:
        stored = _read_private(_private_folder() / name)
    except (OSError, PtxlabError):
        return None
    if stored is None or not stored.startswith(_MAGIC):
        return None
    body = stored[len(_MAGIC) :]
    digest, content = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:]
    return content if digest == _digest(name, content) else None


def write_entry(name: str, content: bytes) -> None:
    """Write an entry. If the disk cannot be written, that is no error: the next process compiles again."""
    with contextlib.suppress(OSError, PtxlabError):
        entry = _private_folder(create=True) / name
        write_atomically(entry, _MAGIC + _digest(name, content) + content, private=True)


def _digest(name: str, content: bytes) -> bytes:
    """A digest that includes the name, so that entries cannot be exchanged."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


def _private_folder(create: bool = False) -> Path:
    """The folder of this user's entries: the cache folder, or a subfolder of it if others may write to that.

    Raises OSError if there is none.
    """
    folder = cache_folder()
    if create:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    if sys.platform == "win32" or _is_private(folder.stat()):
        return folder
    private = folder / f"user-{os.geteuid()}"
    if create:
        private.mkdir(mode=0o700, exist_ok=True)
    status = private.lstat()
    if not stat.S_ISDIR(status.st_mode) or not _is_private(status):
        raise PermissionError(f"{private} is not this user's alone")
    return private


def _read_private(path: Path) -> bytes | None:
    """The content of a regular file that only this user can have written."""
    flags = os.O_RDONLY
    for flag in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):  # no links, no waiting for pipes
        flags |= getattr(os, flag, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return None
        if sys.platform != "win32" and not _is_private(status):
            return None
        return file.read()


def _is_private(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and only this user may write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# -- C and C++ headers that kernels include and NVRTC does not provide ---------------------------------------


_INTEGERS = """#pragma once
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed long long intptr_t;
typedef unsigned long long uintptr_t;
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT16_MAX 32767
#define INT16_MIN (-32768)
#define UINT16_MAX 65535
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define INT64_MIN (-9223372036854775807ll - 1)
#define UINT64_MAX 18446744073709551615ull
"""
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-9223372036854775807ll - 1)
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define FLT_MANT_DIG 24
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MANT_DIG 53
"""
_MATHEMATICS = """#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
"""
_NOTHING = "#pragma once\n"
#: C++ headers that libcu++ provides as <cuda/std/...>.
_LIBRARY = ("array", "bit", "complex", "functional", "limits", "tuple", "type_traits", "utility")


def _from_library(name: str) -> str:
    return f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace ::cuda::std; }}\n"


#: The text of each header, by the name in `#include`.
STANDARD_HEADERS: dict[str, str] = {
    **dict.fromkeys(("stdint.h", "cstdint", "inttypes.h", "cinttypes"), _INTEGERS),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOATS),
    **dict.fromkeys(("math.h", "cmath"), _MATHEMATICS),
    **dict.fromkeys(("stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring"), _NOTHING),
    **dict.fromkeys(("assert.h", "cassert", "stddef.h", "cstddef", "stdbool.h", "cstdbool"), _NOTHING),
    **{name: _from_library(name) for name in _LIBRARY},
}
