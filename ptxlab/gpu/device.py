"""The GPU of this machine: whether there is one, its name, its target, and the model of its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..errors import PtxlabError, error_of, listing
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.parse import parse_any, parse_product
from ..isa.targets import TARGETS, chip_of_target
from ..isa.tcgen05 import TensorInstruction
from ..numerics import has
from .compiler import check_compiler, compiler_version
from .cuda_python import INSTALL, load

_EMULATOR = "the emulator needs none"


@dataclass(frozen=True)
class Gpu:
    """A GPU: its name, and the target that has all of its instructions."""

    name: str
    target: str


@lru_cache(maxsize=1)
def _first_gpu() -> Gpu:
    """The first GPU; the error says in one sentence what is missing."""
    # cuda.core starts the driver too, but reports errors only as text; cuInit returns a code.
    driver = load("cuda.bindings.driver")
    try:
        (code,) = driver.cuInit(0)
    except Exception:  # libcuda is missing; the type of the error depends on the version of the bindings
        raise PtxlabError(f"no NVIDIA driver found on this machine; {_EMULATOR}") from None
    if int(code) != 0:
        raise PtxlabError(f"the NVIDIA driver does not start ({code.name}); {_EMULATOR}")
    devices = load("cuda.core").Device.get_all_devices()
    if not devices:
        raise PtxlabError(f"the NVIDIA driver sees no GPU; {_EMULATOR}")
    _check_driver_version()
    capability = devices[0].compute_capability
    target = f"sm_{capability.major}{capability.minor}"
    if f"{target}a" in TARGETS:
        target += "a"
    return Gpu(devices[0].name, target)


def _check_driver_version() -> None:
    """Refuse a driver that is older than the compiler's CUDA generation."""
    # cuda.core.system uses NVML, which some containers lack.
    code, version = load("cuda.bindings.driver").cuDriverGetVersion()
    major, minor = compiler_version()
    if int(code) == 0 and version // 1000 < major:
        newest = f"{version // 1000}.{version % 1000 // 10}"
        raise PtxlabError(f"the driver knows CUDA {newest}, NVRTC is {major}.{minor}: {INSTALL}; {_EMULATOR}")


def device_target() -> str:
    """Target of the first GPU, e.g. ``sm_90a``; a `PtxlabError` says why there is none."""
    return _first_gpu().target


def device_name() -> str:
    """Name of the first GPU, e.g. ``NVIDIA H200``; a `PtxlabError` says why there is none."""
    return _first_gpu().name


@lru_cache(maxsize=1)
def processors() -> int:
    """Multiprocessors of the first GPU; a `PtxlabError` says why there is none."""
    device_target()
    return int(load("cuda.core").Device(0).properties.multiprocessor_count)


def available(ins: Form | str | None = None) -> bool:
    """Whether there is a GPU (that has this instruction, and a compiler that knows it).

    >>> available() == status().endswith("is ready")
    True
    """
    return not error_of(check_device, None if ins is None else parse_any(ins))


def status(ins: Form | str | None = None) -> str:
    """One sentence: which GPU is ready, or what is missing.

    >>> status()   # doctest: +SKIP
    'NVIDIA H200 (sm_90a) is ready'
    """
    form = None if ins is None else parse_any(ins)
    try:
        gpu = check_device(form)
    except PtxlabError as error:
        return str(error)
    return f"{gpu.name} ({gpu.target}) is ready"


def check_device(ins: Form | None = None) -> Gpu:
    """The GPU that runs this instruction; the error says in one sentence what is missing."""
    gpu = _first_gpu()
    if ins is not None and (gpu.target not in TARGETS or not ins.supports(gpu.target)):
        targets = [target for target in ins.targets if ins.supports(target)]
        verb = "has" if len(targets) == 1 else "have"
        raise PtxlabError(
            f"{gpu.name} is {gpu.target}, which lacks {ins.mnemonic}: {listing(targets, 4)} {verb} it; "
            "the emulator does it anyway"
        )
    if ins is not None:
        check_compiler(ins, gpu.target)
    return gpu


def model(ins: Instruction | TensorInstruction | str) -> str | None:
    """The `model` with which `emulate` matches this GPU; None without a GPU or a model of it."""
    ins = parse_product(ins)
    if not available(ins):
        return None
    chip = chip_of_target(device_target())
    return chip if chip is not None and has(ins, chip) else None
