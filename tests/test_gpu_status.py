"""What `gpu.status()` says on machines that this one is not: played by a driver that answers as told."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import pytest

from ptxlab import PtxlabError, gpu, instruction
from ptxlab.verify import inputs

WGMMA = instruction("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3")


class Code(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100


def driver(
    *,
    init: int = 0,
    count: int = 1,
    version: int = 13000,
    capability: tuple[int, int] = (9, 0),
    name: bytes = b"NVIDIA H200",
) -> Any:
    attributes = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=1
    )
    return SimpleNamespace(
        CUdevice_attribute=attributes,
        cuInit=lambda _: (Code(init),),
        cuDeviceGetCount=lambda: (0, count),
        cuDriverGetVersion=lambda: (0, version),
        cuDeviceGet=lambda _: (0, "device"),
        cuDeviceGetAttribute=lambda which, _: (0, capability[which]),
        cuDeviceGetName=lambda *_: (0, name + b"\0"),
        cuDevicePrimaryCtxRetain=lambda _: (0, "context"),
    )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Call it with a driver to be on a machine that has it."""
    nvrtc = SimpleNamespace(nvrtcVersion=lambda: (0, 13, 0))

    def become(played: Any) -> None:
        def bindings(name: str) -> Any:
            if played is None:
                raise PtxlabError("CUDA for Python is not installed")
            return nvrtc if name == "nvrtc" else played

        monkeypatch.setattr(gpu, "_bindings", bindings)
        for cached in (gpu._device, gpu._compiler_version):
            cached.cache_clear()

    yield become
    for cached in (gpu._device, gpu._compiler_version):
        cached.cache_clear()


def broken(_: int) -> Any:
    raise RuntimeError("libcuda.so.1: cannot open shared object file")


SAID = [
    (driver(), None, "NVIDIA H200 (sm_90a) is ready"),
    (driver(capability=(8, 6), name=b"RTX A4000"), None, "RTX A4000 (sm_86) is ready"),
    (driver(init=100), None, "the NVIDIA driver does not start (CUDA_ERROR_NO_DEVICE); the emulator"),
    (driver(count=0), None, "the NVIDIA driver sees no GPU; the emulator"),
    (driver(version=12040), None, "the driver knows CUDA 12.4, NVRTC is 13.0: pip install"),
    (SimpleNamespace(cuInit=broken), None, "no NVIDIA driver found on this machine; the emulator"),
    (
        driver(capability=(7, 5), name=b"Tesla T4"),
        WGMMA,
        f"Tesla T4 is sm_75, which lacks {WGMMA.mnemonic}: sm_90a has it; the emulator does it anyway",
    ),
]


@pytest.mark.parametrize(("played", "ins", "sentence"), SAID, ids=[sentence[:40] for *_, sentence in SAID])
def test_status_is_one_sentence(machine: Any, played: Any, ins: Any, sentence: str) -> None:
    machine(played)
    said = gpu.status(ins)
    assert said.startswith(sentence)
    assert "\n" not in said
    assert gpu.available(ins) == said.endswith("is ready")


@pytest.mark.parametrize(
    ("capability", "chip"),
    [((9, 0), "sm_90"), ((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 7), "sm_80"), ((12, 1), "sm_120")],
)
def test_what_a_gpu_is_compared_with(machine: Any, capability: tuple[int, int], chip: str) -> None:
    """An A100's results are those of its own model, not of the one that `emulate` takes by default."""
    machine(driver(capability=capability))
    ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert gpu.model(ins) == chip
    assert gpu.model(WGMMA) == ("sm_90" if capability == (9, 0) else None)
    given = inputs.make(ins, "moderate", 50)
    own = ins.emulate(given.a, given.b, given.c, model=gpu.model(ins))
    assert (own == ins.emulate(given.a, given.b, given.c)).all() == (chip in ("sm_90", "sm_120"))


def test_without_the_bindings(machine: Any) -> None:
    machine(None)
    assert gpu.status() == "CUDA for Python is not installed"
    assert not gpu.available()
    with pytest.raises(PtxlabError, match="not installed"):
        gpu.device_target()
