"""The real thing: NVRTC to CUBIN, a cache, a launch. The only room that imports `cuda`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import numerics
from ..errors import PtxlabError, listing
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operands import Operands
from ..isa.targets import TARGETS, check_target, chip_of_target
from . import codegen

__all__ = [
    "Out",
    "available",
    "cache_folder",
    "compile",
    "device_target",
    "disassemble",
    "launch",
    "model",
    "run",
    "status",
]

_INSTALL = 'pip install "ptxlab[cuda13]" (or [cuda12] for a driver of CUDA 12)'
_EMULATOR = "the emulator needs none"
_MAGIC = b"ptxlab-cubin-1\n"
_DISASSEMBLER = 'pip install "ptxlab[cuda13]" (package nvidia-cuda-nvdisasm)'
_CHUNK_BYTES = 1 << 30  # device memory that one launch may take


@dataclass
class Out:
    """An array that a kernel writes: it comes back filled.

    >>> Out(np.empty(4, dtype=np.uint32)).array.shape
    (4,)
    """

    array: NDArray[Any]


# -- what is there ----------------------------------------------------------------------------------------------------


def _bindings(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"cuda.bindings.{name}")
    except ImportError:
        raise PtxlabError(f"CUDA for Python is not installed: {_INSTALL}; {_EMULATOR}") from None


def _call(result: tuple[Any, ...], doing: str) -> Any:
    """What a driver call returned, or the error it reported."""
    code, *values = result
    if int(code) != 0:
        raise PtxlabError(f"{doing} failed with {getattr(code, 'name', code)}")
    return values[0] if len(values) == 1 else tuple(values)


@lru_cache(maxsize=1)
def _device() -> tuple[Any, str, str]:
    """(context, target and name of the first device); raises the sentence that says what is missing."""
    driver = _bindings("driver")
    try:
        (code,) = driver.cuInit(0)
    except Exception:  # libcuda itself is missing; the exception's type depends on the bindings' version
        raise PtxlabError(f"no NVIDIA driver found on this machine; {_EMULATOR}") from None
    if int(code) != 0:
        raise PtxlabError(f"the NVIDIA driver does not start ({code.name}); {_EMULATOR}")
    if _call(driver.cuDeviceGetCount(), "counting devices") == 0:
        raise PtxlabError(f"the NVIDIA driver sees no GPU; {_EMULATOR}")
    version = _call(driver.cuDriverGetVersion(), "asking for the driver's version")
    major, minor = _compiler_version()
    if version // 1000 < major:
        raise PtxlabError(
            f"the driver knows CUDA {version // 1000}.{version % 1000 // 10}, NVRTC is {major}.{minor}: {_INSTALL}; {_EMULATOR}"
        )
    device = _call(driver.cuDeviceGet(0), "opening the first device")
    attribute = driver.CUdevice_attribute
    numbers = [
        _call(
            driver.cuDeviceGetAttribute(
                getattr(attribute, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"), device
            ),
            "reading the compute capability",
        )
        for part in ("MAJOR", "MINOR")
    ]
    name = _call(driver.cuDeviceGetName(128, device), "reading the device's name").split(b"\0")[0].decode()
    plain = f"sm_{numbers[0]}{numbers[1]}"
    context = _call(driver.cuDevicePrimaryCtxRetain(device), "opening a context")
    return context, f"{plain}a" if f"{plain}a" in TARGETS else plain, name


def device_target() -> str:
    """Target of the first GPU, e.g. ``sm_90a``; a `PtxlabError` says why there is none.

    >>> if available():
    ...     assert device_target() in TARGETS
    """
    return _device()[1]


def available(ins: Form | None = None) -> bool:
    """Whether a GPU is there (and has this instruction).

    >>> available() == status().endswith("is ready")
    True
    """
    try:
        target = device_target()
    except PtxlabError:
        return False
    return ins is None or target in ins.targets


def status(ins: Form | None = None) -> str:
    """One sentence: the GPU that is there, or what is missing.

    >>> status()   # doctest: +SKIP
    'NVIDIA H200 (sm_90a) is ready'
    """
    try:
        _, target, name = _device()
    except PtxlabError as error:
        return str(error)
    if ins is not None and target not in ins.targets:
        return _lacks(ins, target, name)
    return f"{name} ({target}) is ready"


def model(ins: MmaForm) -> str | None:
    """Name of the model that `emulate(model=...)` takes to give what this GPU's `run` gives; None without a GPU or a model of it.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> model(ins) in (None, *GENERATIONS)
    True
    """
    if not available(ins):
        return None
    chip = chip_of_target(device_target())
    return chip if chip is not None and numerics.has(ins, chip) else None


def _lacks(ins: Form, target: str, name: str) -> str:
    have = "has it" if len(ins.targets) == 1 else "have it"
    return f"{name} is {target}, which lacks {ins.mnemonic}: {listing(ins.targets, 4)} {have}; the emulator does it anyway"


# -- compiling --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _compiler_version() -> tuple[int, int]:
    nvrtc = _bindings("nvrtc")
    try:
        major, minor = _call(nvrtc.nvrtcVersion(), "asking for NVRTC's version")
    except PtxlabError:
        raise
    except Exception:  # the library itself is missing; the exception's type depends on the bindings' version
        raise PtxlabError(f"NVRTC, CUDA's run-time compiler, is not installed: {_INSTALL}") from None
    return int(major), int(minor)


def cache_folder() -> Path:
    """Where compiled kernels are kept; the variable PTXLAB_CACHE moves it.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_CACHE="kernels"):
    ...     print(cache_folder())
    kernels
    """
    if chosen := os.environ.get("PTXLAB_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "ptxlab"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ptxlab"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ptxlab"


def _read(file: Path) -> bytes | None:
    """The cached CUBIN, or None when it is absent or damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, cubin = content[len(_MAGIC) : len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
    return cubin if content.startswith(_MAGIC) and hashlib.sha256(cubin).digest() == digest else None


def _write(file: Path, cubin: bytes) -> None:
    """Keep a CUBIN: written aside and moved into place, so that no reader ever sees half of it. A read-only disk is no error."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(_MAGIC + hashlib.sha256(cubin).digest() + cubin)
        Path(part.name).replace(file)
    except OSError:
        pass


def compile(source: str, target: str, *, include_mma: bool = False, cache: bool = True) -> bytes:
    """CUDA C++ -> CUBIN for that target, through NVRTC and the cache; needs no GPU.

    >>> compile("__global__ void nothing() {}", "sm_90a")[1:4]
    b'ELF'
    """
    check_target(target)
    version = _compiler_version()
    key = hashlib.sha256(
        "\0".join([source, target, str(include_mma), *map(str, version)]).encode()
    ).hexdigest()
    file = cache_folder() / f"{key}.cubin"
    cubin = _read(file) if cache else None
    if cubin is None:
        cubin = _nvrtc(source, target, include_mma)
        if cache:
            _write(file, cubin)
    return cubin


def _nvrtc(source: str, target: str, include_mma: bool) -> bytes:
    nvrtc = _bindings("nvrtc")
    options = [f"-arch={target}".encode(), b"-std=c++17", b"-default-device"]
    if include_mma:
        options += [f"-I{folder}".encode() for folder in _header_folders()]
    program = _call(nvrtc.nvrtcCreateProgram(source.encode(), b"ptxlab.cu", 0, [], []), "reading the source")
    try:
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(code) != 0:
            log = bytearray(_call(nvrtc.nvrtcGetProgramLogSize(program), "reading the log"))
            _call(nvrtc.nvrtcGetProgramLog(program, log), "reading the log")
            raise PtxlabError(
                f"NVRTC does not compile this for {target}:\n{bytes(log).rstrip(bytes(1)).decode().strip()}"
            )
        cubin = bytearray(_call(nvrtc.nvrtcGetCUBINSize(program), "reading the machine code"))
        _call(nvrtc.nvrtcGetCUBIN(program, cubin), "reading the machine code")
        return bytes(cubin)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


@lru_cache(maxsize=1)
def _header_folders() -> tuple[str, ...]:
    """Folders with <mma.h> and what it includes."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory
    except ImportError:
        raise PtxlabError(f"the CUDA headers cannot be found: {_INSTALL}") from None
    folders = [find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    if not _has_mma(folders):  # CUDA 12 keeps crt/ with nvcc
        folders.append(find_nvidia_header_directory("nvcc"))
    if not _has_mma(folders):
        raise PtxlabError(
            f"<mma.h> is not installed (package nvidia-cuda-crt): {_INSTALL}; inline PTX needs no header"
        )
    return tuple(folder for folder in folders if folder)


def _has_mma(folders: Sequence[str | None]) -> bool:
    return any((Path(folder) / "crt" / "mma.h").exists() for folder in folders if folder)


# -- disassembling ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _nvdisasm() -> str:
    """Path of nvdisasm: that of the wheel, or that of a CUDA toolkit on the PATH."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        found = None
    else:
        found = find_nvidia_binary_utility("nvdisasm")
    found = found or shutil.which("nvdisasm")
    if not found:
        raise PtxlabError(f"nvdisasm, CUDA's disassembler, is not installed: {_DISASSEMBLER}")
    return str(found)


def disassemble(cubin: bytes) -> str:
    """CUBIN -> nvdisasm's listing of its machine code, kept in the cache; needs no GPU.

    >>> "EXIT" in disassemble(compile("__global__ void nothing() {}", "sm_90a"))
    True
    """
    file = cache_folder() / f"{hashlib.sha256(cubin).hexdigest()}.sass"
    kept = _read(file)
    if kept is not None:
        return kept.decode()
    tool = _nvdisasm()
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "kernel.cubin"
        code.write_bytes(cubin)
        done = subprocess.run([tool, "-c", str(code)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PtxlabError(
            f"nvdisasm does not read this machine code: {done.stderr.strip() or f'exit code {done.returncode}'}"
        )
    _write(file, done.stdout.encode())
    return done.stdout


# -- running ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _function(source: str, name: str, target: str, include_mma: bool) -> Any:
    driver = _bindings("driver")
    module = _call(
        driver.cuModuleLoadData(compile(source, target, include_mma=include_mma)), "loading the kernel"
    )
    return _call(driver.cuModuleGetFunction(module, name.encode()), f"finding the kernel {name}")


def launch(
    source: str, name: str, arguments: Sequence[Any], *, grid: int, block: int, include_mma: bool = False
) -> None:
    """Compile, load and run a kernel, and wait for it. Arrays are copied in, `Out` arrays come back, scalars go by value.

    >>> out = np.zeros(32, dtype=np.int32)
    >>> text = 'extern "C" __global__ void count(int* out) { out[threadIdx.x] = threadIdx.x; }'
    >>> if available():
    ...     launch(text, "count", [Out(out)], grid=1, block=32)
    ...     assert out.tolist() == list(range(32))
    """
    driver = _bindings("driver")
    context, target, _ = _device()
    _call(
        driver.cuCtxSetCurrent(context), "entering the context"
    )  # it belongs to a thread, and this may be another one
    function = _function(source, name, target, include_mma)
    held: list[Any] = []
    slots: list[NDArray[Any]] = []
    copies: list[tuple[NDArray[Any], Any]] = []
    try:
        for argument in arguments:
            array = argument.array if isinstance(argument, Out) else argument
            if isinstance(array, np.generic):
                slots.append(np.array([array]))
                continue
            if isinstance(argument, Out) and not array.flags.c_contiguous:
                raise PtxlabError("an Out array must be contiguous")
            array = np.ascontiguousarray(array)
            pointer = _call(
                driver.cuMemAlloc(max(array.nbytes, 1)), f"taking {array.nbytes} bytes of GPU memory"
            )
            held.append(pointer)
            slots.append(np.array([int(pointer)], dtype=np.uint64))
            if isinstance(argument, Out):
                copies.append((array, pointer))
            else:
                _call(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes), "copying to the GPU")
        pointers = np.array([slot.ctypes.data for slot in slots], dtype=np.uint64)
        _call(
            driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, 0, pointers.ctypes.data, 0),
            "launching the kernel",
        )
        _call(driver.cuCtxSynchronize(), "running the kernel")
        for array, pointer in copies:
            _call(driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes), "copying from the GPU")
    finally:
        for pointer in held:
            driver.cuMemFree(pointer)


def run(operands: Operands) -> NDArray[Any]:
    """Registers of D through the instruction itself, in as few launches as memory allows; see `Instruction.run`.

    >>> from ptxlab import inputs, instruction
    >>> ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> a, b, c, *_ = inputs.make(ins, "exponents", count=100)
    >>> if available(ins):
    ...     assert (ins.run(a, b, c) == ins.emulate(a, b, c)).all()
    """
    ins = operands.ins
    _, target, name = _device()
    if target not in ins.targets:
        raise PtxlabError(_lacks(ins, target, name))
    count = operands.count
    out = np.empty((count, ins.d.lanes, ins.d.registers), dtype=ins.d.register_type)
    code = codegen.source(ins, operands.modifiers)
    arrays = [*operands.arrays.values(), out]
    each = sum(array.shape[-2] * array.shape[-1] * array.itemsize for array in arrays)
    step = max(1, _CHUNK_BYTES // each)
    for first in range(0, count, step):
        last = min(first + step, count)
        size = last - first
        grid = min(size if ins.lanes == 128 else -(-size // 4), 4096)
        arguments = [*operands.part(first, last).arrays.values(), Out(out[first:last]), np.int32(size)]
        launch(code, codegen.NAME, arguments, grid=grid, block=128)
    return out.reshape(operands.batch + out.shape[1:])
