"""The emulator gives the registers that an H200 gave: every form of sm_90a, no tolerance."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ptxlab.numerics.emulate import model_of
from ptxlab.verify import inputs
from tools import golden, record_hunts

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
            assert len(rows.get("extra", [])) == len(list(golden.further(ins)))


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS)
def test_emulator_equals_the_h200(name: str) -> None:
    group = GROUPS[name]
    widest = group[-1]
    seen = dict.fromkeys(range(4), 0)
    for category, selector, given in golden.cases(group, golden.SEED):
        codes = widest.d.unpack_codes(widest.emulate(given.a, given.b, given.c, given.e, selector=selector))
        for ins in group:
            registers = ins.d.pack_codes(codes[..., : ins.n])
            found = golden.digest(registers)
            for variant, _, chosen in golden.variants(ins):
                if chosen != selector:
                    continue
                what = f"{ins} {variant} {category}"
                sample = f"{ins.mnemonic}|{variant}|{category}"
                if sample in RESULTS:
                    np.testing.assert_array_equal(
                        registers[: len(RESULTS[sample])], RESULTS[sample], err_msg=what
                    )
                assert found == DIGESTS[ins.mnemonic][variant][seen[selector]], what
        seen[selector] += 1


@pytest.mark.parametrize(
    "name", [name for name, group in GROUPS.items() if "extra" in DIGESTS[group[0].mnemonic]]
)
def test_the_corners_too(name: str) -> None:
    ins = GROUPS[name][0]
    found = {
        category: golden.digest(ins.emulate(part.a, part.b, part.c, part.e))
        for category, part in golden.further(ins)
    }
    for form in GROUPS[name]:
        assert dict(zip(found, DIGESTS[form.mnemonic]["extra"], strict=True)) == found, form


def test_every_form_was_hunted() -> None:
    """What the models say of themselves: so many MMAs of each form were compared with an H200, and none differed."""
    runs = json.loads(record_hunts.FILE.read_text())
    assert set(runs) == set(DIGESTS)
    for group in GROUPS.values():
        for ins in group:
            assert sum(mmas for mmas, _ in runs[ins.mnemonic]) >= model_of(ins, "sm_90").mmas >= 100_000, ins


def test_recorded_columns_are_shared() -> None:
    """Instructions that differ in N alone get the same columns, which is what lets one emulation serve them all."""
    for group in GROUPS.values():
        if len(group) > 1:
            wide = inputs.make(group[-1], "bits", 2, 7)
            narrow = inputs.make(group[0], "bits", 2, 7)
            columns = golden.narrowed(wide, group[-1], group[0])["register"]
            assert list(narrow.arrays) == list(columns.arrays)
            for name, array in narrow.arrays.items():
                assert np.array_equal(array, columns.arrays[name]), name
