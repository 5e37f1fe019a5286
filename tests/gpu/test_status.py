"""What `gpu.status()` says on other machines: modules that stand in for CUDA for Python answer as told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from ptxlab import gpu, inputs
from ptxlab.gpu import compiler, device
from ptxlab.instruction import instruction, mma_instruction
from ptxlab.numerics.emulate import emulate
from tests.cases import refuses

WGMMA = mma_instruction("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3")
NOTEBOOK = 104  # characters for which a line of a notebook has room
ULTRA = instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", k=96)  # of sm_103a


class Code(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100


class Machine(NamedTuple):
    """What the modules of CUDA for Python answer on it."""

    init: int = 0
    count: int = 1
    version: int = 13000
    capability: tuple[int, int] = (9, 0)
    name: str = "NVIDIA H200"
    library: bool = True

    def modules(self) -> dict[str, Any]:
        capability = SimpleNamespace(major=self.capability[0], minor=self.capability[1])
        devices = [SimpleNamespace(name=self.name, compute_capability=capability)] * self.count
        return {
            "cuda.bindings.driver": SimpleNamespace(
                cuInit=self.start, cuDriverGetVersion=lambda: (Code(0), self.version)
            ),
            "cuda.bindings.nvrtc": SimpleNamespace(nvrtcVersion=lambda: (Code(0), 13, 0)),
            "cuda.core": SimpleNamespace(Device=SimpleNamespace(get_all_devices=lambda: tuple(devices))),
        }

    def start(self, _: int) -> tuple[Code]:
        if not self.library:
            raise RuntimeError("libcuda.so.1: cannot open shared object file")
        return (Code(self.init),)


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Machine | None], None]]:
    """Call it with a machine to be there; None lacks CUDA for Python."""
    cached = (device._first_gpu, compiler.compiler_version)

    def be(machine: Machine | None) -> None:
        names = ("cuda.bindings.driver", "cuda.bindings.nvrtc", "cuda.core")
        modules = machine.modules() if machine else dict.fromkeys(names)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        for function in cached:
            function.cache_clear()

    yield be
    for function in cached:
        function.cache_clear()


SENTENCES = [
    (Machine(), None, "NVIDIA H200 (sm_90a) is ready"),
    (Machine(capability=(8, 6), name="RTX A4000"), None, "RTX A4000 (sm_86) is ready"),
    (Machine(init=100), None, "the NVIDIA driver does not start (CUDA_ERROR_NO_DEVICE); the emulator"),
    (Machine(count=0), None, "the NVIDIA driver sees no GPU; the emulator"),
    (Machine(version=12040), None, "the driver knows CUDA 12.4, NVRTC is 13.0: pip install"),
    (Machine(library=False), None, "no NVIDIA driver found on this machine; the emulator"),
    (
        Machine(capability=(7, 5), name="Tesla T4"),
        WGMMA,
        f"Tesla T4 is sm_75, which lacks {WGMMA.mnemonic}: sm_90a has it; the emulator does it anyway",
    ),
    (Machine(capability=(10, 3), name="NVIDIA B300"), ULTRA, "NVIDIA B300 (sm_103a) is ready"),
    (
        Machine(capability=(10, 0), name="NVIDIA B200"),
        ULTRA,
        f"NVIDIA B200 is sm_100a, which lacks {ULTRA.mnemonic}: sm_103a, sm_107a have it; the emulator",
    ),
]


@pytest.mark.parametrize(
    ("machine", "ins", "sentence"), SENTENCES, ids=[sentence[:40] for *_, sentence in SENTENCES]
)
def test_status_is_one_sentence(become: Any, machine: Machine, ins: Any, sentence: str) -> None:
    become(machine)
    status = gpu.status(ins)
    assert status.startswith(sentence)
    assert "\n" not in status
    assert gpu.available(ins) == status.endswith("is ready")


def test_name_and_target_are_data(become: Any) -> None:
    become(Machine(capability=(12, 0), name="NVIDIA GeForce RTX 5090"))
    assert (gpu.device_name(), gpu.device_target()) == ("NVIDIA GeForce RTX 5090", "sm_120a")
    become(Machine(count=0))
    refuses("sees no GPU", gpu.device_name)


@pytest.mark.parametrize(
    ("capability", "chip"),
    [((9, 0), "sm_90"), ((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 7), "sm_80"), ((12, 1), "sm_120")],
)
def test_what_a_gpu_is_compared_with(become: Any, capability: tuple[int, int], chip: str) -> None:
    """An A100's results are those of its own model, not of the one that `emulate` takes by default."""
    become(Machine(capability=capability))
    ins = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert gpu.model(ins) == chip
    assert gpu.model(WGMMA) == ("sm_90" if capability == (9, 0) else None)
    assert gpu.model("tcgen05.mma.cta_group::1.kind::f16") is None
    operands = inputs.make(ins, "moderate", 50)
    own = emulate(operands, model=gpu.model(ins))
    assert (own == emulate(operands)).all() == (chip in ("sm_90", "sm_120"))


def test_without_cuda_for_python(become: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    become(None)
    monkeypatch.setattr(sys, "platform", "linux")
    assert gpu.status().startswith("CUDA for Python is not installed: pip install")
    assert len(gpu.status()) <= NOTEBOOK
    assert not gpu.available()
    refuses("not installed", gpu.device_target)
    refuses("not installed", gpu.compile, "__global__ void nothing() {}", "sm_80")


def test_without_nvrtc(become: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("libnvrtc.so.13: cannot open shared object file")

    become(Machine())
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", SimpleNamespace(nvrtcVersion=missing))
    assert gpu.status().startswith("NVRTC, CUDA's run-time compiler, is not installed: pip install")


def test_a_mac_is_not_told_to_install_cuda(become: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extras `cuda12` and `cuda13` are empty there."""
    become(None)
    monkeypatch.setattr(sys, "platform", "darwin")
    sentence = gpu.status()
    assert sentence.startswith("a Mac has neither an NVIDIA GPU nor CUDA: Clang compiles kernels")
    assert "ptxlab[clang]" in sentence and "cuda1" not in sentence
    assert len(sentence) <= NOTEBOOK


def test_a_tab_is_not_told_to_install_cuda(become: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    become(None)
    monkeypatch.setattr(sys, "platform", "emscripten")
    sentence = gpu.status()
    assert sentence.startswith("a browser's tab has neither a GPU nor") and "pip" not in sentence
    assert len(sentence) <= NOTEBOOK
