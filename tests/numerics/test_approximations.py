"""The approximate instructions: bits recorded on an H200, and the errors that the PTX ISA promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptxlab.numerics.scalar import operation
from ptxlab.numerics.scalar.approximations import FUNCTIONS, interpolator
from tests.cases import each
from tools.record.approximations import FOLDER, digest, inputs, results

RECORDED = json.loads((FOLDER / "approximations.json").read_text(encoding="utf-8"))


def computed(opcode: str) -> Any:
    function = operation(opcode)
    assert function is not None
    return function(*inputs(opcode))


@each("opcode", FUNCTIONS)
def test_the_bits_are_those_of_an_h200(opcode: str) -> None:
    assert opcode in FUNCTIONS
    assert digest(computed(opcode)) == RECORDED[opcode]


def test_the_documentation_has_the_parameters_of_the_tables() -> None:
    page = (FOLDER.parent.parent / "docs" / "reference" / "approximations.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if "| 2^-" in line]
    assert len(rows) == 7
    for name, _, count, low_bits, c0_shift, square_shift, constant, unit, _ in rows:
        table = interpolator(name)
        assert len(table.coefficients) == int(count)
        assert (table.low_bits, table.c0_shift) == (int(low_bits), int(c0_shift))
        assert (table.square_shift, table.constant) == (int(square_shift), int(constant, 16))
        assert unit == f"2^-{table.scale}"


@pytest.mark.gpu
@each("opcode", FUNCTIONS)
def test_the_gpu_gives_these_bits(opcode: str) -> None:
    np.testing.assert_array_equal(results(opcode, *inputs(opcode)), computed(opcode))


@pytest.mark.parametrize(
    ("name", "true", "low", "high", "bound", "relative"),
    [
        ("rcp", np.reciprocal, 1, 2, -23, False),
        ("sqrt", np.sqrt, 1, 4, -23, True),
        ("rsqrt", lambda x: x**-0.5, 1, 4, -22.9, True),
        ("ex2", np.exp2, -2, 2, -22, True),
        ("lg2", np.log2, 0.5, 2, -22, False),
        ("sin", np.sin, -np.pi, np.pi, -20.5, False),
        ("cos", np.cos, -np.pi, np.pi, -20.5, False),
        ("tanh", np.tanh, 0.001, 20, -11, True),
    ],
)
def test_the_errors_are_as_small_as_the_manual_says(
    name: str, true: Callable[[Any], Any], low: float, high: float, bound: float, relative: bool
) -> None:
    function = operation(f"{name}.approx.f32")
    assert function is not None
    x = np.linspace(low, high, 20_000, dtype=np.float32)
    expected = true(x.astype(np.float64))
    error = np.abs(function(x.view(np.uint32)).view(np.float32) - expected)
    scale = np.abs(expected) if relative else 1.0
    assert np.log2((error / scale).max()) <= bound
