"""What must hold where Python is WebAssembly; `test_pyodide.py` runs it there, with tests of other files."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np
import pytest

from ptxlab import inputs
from ptxlab.explorer.session import PageSession
from ptxlab.explorer.worker import Tab
from ptxlab.numerics.emulate import emulate
from tests.cases import each
from tests.sampling import one_in
from tools.record import golden

DIGESTS, RESULTS = golden.load()
GROUPS = golden.groups()


@each("name", one_in(10, list(GROUPS)))
def test_words_of_an_h200(name: str) -> None:
    """One category of inputs for each group, another one for its neighbour: its first words, or a digest."""
    form = GROUPS[name][0]  # its inputs are columns of those of the widest
    categories = inputs.categories(form)
    number = list(GROUPS).index(name) % len(categories)
    category, _, operands = next(golden.cases([form], golden.SEED, categories=[categories[number]]))
    variant = next(name for name, _, _ in golden.variants(form))
    recorded = RESULTS.get(f"{form.mnemonic}|{variant}|{category}")
    if recorded is not None:
        registers = emulate(operands.select(np.arange(golden.SAMPLES)))
        assert np.array_equal(registers, recorded)  # np.testing needs parts that are not in every wheel
    else:
        assert golden.digest(emulate(operands)) == DIGESTS[form.mnemonic][variant][number]


def test_this_is_where_default_integers_have_32_bits() -> None:
    """Otherwise the tests here show nothing that others do not."""
    assert sys.platform == "emscripten" and np.dtype(int).itemsize == 4
    with pytest.raises(ImportError):
        import lzma  # noqa: F401


def test_lessons_kernels_are_read_without_lzma() -> None:
    from ptxlab.course import reader_kernels
    from ptxlab.course.exercises import epilogue

    kernel = reader_kernels.kernel(epilogue.sources()[0])
    assert "wgmma" in kernel.ptx or "mma.sync" in kernel.ptx


# -- the Explorer's session, as the page's worker has it ---------------------------------------------------

FORMS = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
    "tcgen05.mma.cta_group::1.kind::f16",
    "tcgen05.ld.sync.aligned.32x32b.x4.b32",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "mma.m16n8k16.f16",
)


@each("name", FORMS)
def test_a_tab_opens(name: str) -> None:
    tab = Tab()
    [(text, buffers)] = tab.open(name, "[]")
    message = json.loads(text)
    assert message["method"] == "update" and message["state"]["problem"] == "" and buffers
    assert message["state"]["instruction"]["mnemonic"]


@each(
    "message",
    [
        {"type": "request_picker_index"}, {"type": "export", "format": "code"},
        {"type": "export", "format": "link"}, {"type": "export", "format": "page"},
        {"type": "show_memory", "name": "A"}, {"type": "start_quiz"}, {"type": "find_difference"},
        {"type": "set_chips", "chip": "sm_90", "against": "sm_80"},
        {"type": "fill_matrix", "name": "B", "pattern": "one-hot", "row": 3, "column": 2},
        {"type": "flip_bit", "name": "A", "lane": 4, "register": 3, "bit": 31},
        {"type": "set_cell", "name": "C", "row": 1, "column": 1, "text": "0x7f800000"}, {"type": "undo"},
    ],
    ids=lambda message: message["type"],
)  # fmt: skip
def test_a_tab_answers(message: dict[str, Any]) -> None:
    session = PageSession(FORMS[0])
    session.handle(
        {"method": "custom", "content": {"type": "set_chips", "chip": "sm_90", "against": "sm_80"}}
    )
    session.handle({"method": "custom", "content": message})
    assert session.page_model.problem == ""
    state = {"method": "update", "state": {"selected": {"name": "D", "row": 3, "column": 1}, "tracing": True}}
    assert any("trace" in message.get("state", {}) for message in session.handle(state))


def test_a_link_made_elsewhere_opens_with_the_same_bits() -> None:
    """The link is of CPython with 64-bit integers; its D is that of the emulator there."""
    link = (
        "ptxlab:beNodyEsKwyAQANB9jzFrGdqYap1dzxFCER2KxE9RSynBu_cDb_V2CLn1-nQ9lAwEKVlsD6JSPVf2t8Tdetu_"
        "-c4ObQz3zB7TSeXLpmas5YWuRGxywjb_yQkENGYPdBYQS9mAdog2M5AZAtiH3n51BVoWLSZ5NFpqo_S6jnH4ADJELm4"
    )
    session = PageSession(link)
    digest = hashlib.sha256(session.page_model.D["codes"]).hexdigest()[:16]
    assert (session.state.form.mnemonic, digest) == (FORMS[1], "66af558f6647f4da")
