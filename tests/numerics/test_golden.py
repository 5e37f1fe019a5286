"""The emulator gives the registers that an H200 gave: every form of sm_90a, no tolerance."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ptxlab import inputs
from ptxlab.numerics.emulate import emulate, model_of
from tests.cases import each
from tests.sampling import one_in
from tools.record import golden
from tools.record import hunts as record_hunts

DIGESTS, RESULTS = golden.load()
GROUPS = golden.groups()


@pytest.mark.slow
def test_every_form_is_recorded() -> None:
    forms = {
        ins.mnemonic: {name for name, _, _ in golden.variants(ins)}
        for group in GROUPS.values()
        for ins in group
    }
    assert {name: set(rows) - {"extra"} for name, rows in DIGESTS.items()} == forms
    for group in GROUPS.values():
        if group[0].n == 8 or group[0].lanes == 32:
            assert len(inputs.categories(group[0])) * golden.count(group[0]) >= 1000
        for ins in group:
            rows = DIGESTS[ins.mnemonic]
            assert all(
                len(row) == len(inputs.categories(ins)) for name, row in rows.items() if name != "extra"
            )
            assert len(rows.get("extra", [])) == len(golden.further_categories(ins))


@pytest.mark.slow
@each("name", GROUPS)
def test_emulator_equals_the_h200(name: str) -> None:
    group = GROUPS[name]
    widest = group[-1]
    numbers = {category: number for number, category in enumerate(inputs.categories(widest))}
    categories = one_in(24, list(numbers), list(GROUPS).index(name))
    for category, selector, operands in golden.cases(group, golden.SEED, categories=categories):
        codes = widest.d.unpack_codes(emulate(operands))
        for ins in group:
            registers = ins.d.pack_codes(codes[..., : ins.n])
            digest = golden.digest(registers)
            for variant, _, variant_selector in golden.variants(ins):
                if variant_selector != selector:
                    continue
                description = f"{ins} {variant} {category}"
                recorded = RESULTS.get(f"{ins.mnemonic}|{variant}|{category}")
                if recorded is not None:
                    np.testing.assert_array_equal(registers[: len(recorded)], recorded, err_msg=description)
                assert digest == DIGESTS[ins.mnemonic][variant][numbers[category]], description


@each("name", one_in(2, [name for name, group in GROUPS.items() if "extra" in DIGESTS[group[0].mnemonic]]))
@pytest.mark.slow
def test_emulator_equals_the_h200_for_directed_inputs(name: str) -> None:
    digests = {
        category: golden.digest(emulate(operands)) for category, operands in golden.further(GROUPS[name][0])
    }
    for ins in GROUPS[name]:
        assert dict(zip(digests, DIGESTS[ins.mnemonic]["extra"], strict=True)) == digests, ins


def test_every_form_was_hunted() -> None:
    """The counts that the models state: so many MMAs of each form agreed with an H200."""
    runs = json.loads(record_hunts.FILE.read_text())
    assert set(runs) == set(DIGESTS)
    for group in GROUPS.values():
        for ins in group:
            assert sum(mmas for mmas, _ in runs[ins.mnemonic]) >= model_of(ins, "sm_90").mmas >= 100_000, ins


def test_recorded_columns_are_shared() -> None:
    """Instructions that differ only in N get the same columns, so that one emulation serves them all."""
    for group in GROUPS.values():
        if len(group) > 1:
            wide = inputs.make(group[-1], "bits", 2, 7)
            narrow = inputs.make(group[0], "bits", 2, 7)
            columns = golden.narrowed(wide, group[-1], group[0])["register"]
            assert list(narrow.arrays) == list(columns.arrays)
            for name, array in narrow.arrays.items():
                assert np.array_equal(array, columns.arrays[name]), name
