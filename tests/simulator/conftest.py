"""Launches on a GPU that is not there."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from ptxlab.simulator import kernel as kernel_module


class ArrayOnGpu:
    """An array of 32 words that is on a GPU, at an address that nobody reads."""

    ADDRESS = 0x7F0000
    __cuda_array_interface__: ClassVar[dict[str, Any]] = {
        "shape": (32,), "typestr": "<u4", "data": (ADDRESS, False), "strides": None, "version": 3
    }  # fmt: skip


@pytest.fixture
def array_on_gpu() -> ArrayOnGpu:
    return ArrayOnGpu()


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a launch passes to the driver."""
    passed: list[Any] = []
    monkeypatch.setattr(kernel_module, "launch_kernel", lambda *arguments: passed.extend(arguments))
    monkeypatch.setattr(kernel_module, "launch_stream", lambda arrays, stream: 7)
    return passed
