"""`ptxlab descriptor`, `ptxlab conflicts`, and what `ptxlab layout` says of tiles."""

from __future__ import annotations

import json

import pytest

from ptxlab import memory
from tests.texts import replaced

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
X4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
SMALL = "dtype=f16,rows=8,k=64,swizzle=128"
TILE = "dtype=f16,rows=64,k=128,swizzle=128"


@pytest.fixture
def json_answer(answer):
    """Runs a command that must succeed and gives the object that it prints with --json."""
    return lambda *words: json.loads(answer(*words, "--json"))


def test_a_descriptor_is_decoded(answer, json_answer) -> None:
    text = answer("descriptor", "0x4000004000010040")
    assert str(memory.descriptor(0x4000004000010040)) in text
    assert "    1  0x490   0x480\n" in text
    data = json_answer("descriptor", "0x4002004000010048")
    assert (data["address"], data["leading"], data["stride"]) == (0x480, 16, 1024)
    assert (data["swizzle"], data["base_offset"], data["right"]) == (128, 1, None)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("0x4000004000010042", "--tile", TILE, "--k", "16"), "right for the slice at k=16 of Tile(bits=16"),
        (
            ("0x4000002000010040", "--tile", TILE),
            "LBO is ignored for swizzled K-major; SBO must be 1024, found 512",
        ),
        (("0x4000004000010042", "--tile", TILE), "it could be that of k=16"),
        (("0x4000004000010040", "--tile", TILE, "--k", "64", "--address", "0x400"), "address must be 0x2400"),
        (
            ("0x4000004000010040", "--instruction", WGMMA),
            "right for the slice at k=0 of Tile(bits=16, rows=64",
        ),
        (
            ("0x4000004000010042", "--instruction", WGMMA),
            "right, for example, for the slice at k=16 of Tile(bits=16, rows=64, k=64, major='K', "
            "swizzle=128)",
        ),
        (
            ("0x4000008000010086", "--instruction", WGMMA),
            "for the slice at k=48 of Tile(bits=16, rows=64, k=128, major='K', swizzle=128, order='K')",
        ),
        (
            ("0x800400040", "--instruction", WGMMA),
            "right, for example, for the slice at k=0 of Tile(bits=16, rows=64, k=16, major='K', swizzle=0, "
            "order='MN')",
        ),
        (
            ("0x4000008000400040", "--instruction", WGMMA, "--transposed"),
            "of Tile(bits=16, rows=128, k=16, major='MN', swizzle=128)",
        ),
        (("0x4000002000010040", "--instruction", WGMMA), "SBO must be 1024, found 512"),
        (
            ("0x4000004000010040", "--instruction", WGMMA, "--tile", "dtype=s8,rows=32,k=128,swizzle=128"),
            "B is f16, but the tile has elements of 8 bits; B is 64 rows by 16 of K",
        ),
    ],
)
def test_a_descriptor_is_judged(answer, json_answer, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in answer("descriptor", *words)
    data = json_answer("descriptor", *words)
    assert data["right"] == ("must" not in sentence and "but" not in sentence and "could" not in sentence)
    assert data["right"] == (not data["problems"])


@pytest.mark.parametrize(
    "words",
    [
        ("0x4000004000010042",),
        ("0x4000004000010042", "--instruction", replaced(WGMMA, "n64", "n8")),
        ("0x4000004000010042", "--tile", SMALL, "--k", "16"),
        ("0x4000004000010042", "--tile", SMALL),  # at k=0 no tile can be there
        ("0x4000008000400040", "--instruction", replaced(WGMMA, "n64", "n128"), "--transposed"),
    ],
)
def test_what_a_descriptor_reads_is_drawn(answer, words: tuple[str, ...]) -> None:
    drawn = answer("descriptor", *words, "--svg")
    code = f"0x{int(words[0], 16):016x}"
    assert drawn.startswith("<svg") and f"What wgmma reads through {code}" in drawn and ">0.1<" in drawn


def test_the_descriptors_of_a_tile(answer, json_answer) -> None:
    data = json_answer("descriptor", "--tile", TILE, "--address", "0x400")
    tile = memory.Tile(16, 64, 128, swizzle=128)
    assert [int(part["descriptor"], 16) for part in data["slices"]] == [
        tile.descriptor(0x400, k) for k in range(0, 128, 16)
    ]
    assert "0x4000004000010242" in answer("descriptor", "--tile", tile.cute, "--address", "0x400")
    assert answer("descriptor", "--tile", TILE, "--k", "16", "--svg").startswith("<svg")


def test_layout_says_how_to_describe_the_tile(answer, json_answer) -> None:
    for words, tile in (
        (("--swizzle", "128"), memory.Tile(16, 64, 16, swizzle=128)),
        (("--transposed", "--swizzle", "64"), memory.Tile(16, 64, 16, "MN", 64)),
        ((), memory.Tile(16, 64, 16)),
    ):
        text = answer("layout", WGMMA, "B", *words)
        assert f"(LBO) {tile.leading}, stride dimension offset (SBO) {tile.stride} bytes" in text
        assert f"0x{tile.descriptor():016x}" in text
        data = json_answer("layout", WGMMA, "B", *words)
        assert (data["LBO"], data["SBO"]) == (tile.leading, tile.stride)
        assert int(data["descriptor"], 16) == tile.descriptor()


@pytest.mark.parametrize(
    ("words", "wavefronts", "least", "pitches", "swizzles"),
    [
        ((X4, "--pitch", "80", "--swizzle", "64"), 8, 4, [64, 32], [0]),
        ((X4, "--pitch", "128"), 32, 4, [144, 112], [128]),
        ((X4, "--pitch", "80"), 4, 4, [], []),
        ((X4, "--swizzle", "128"), 4, 4, [], []),
        (("st.shared.b32", "--pitch", "128"), 32, 1, [132, 124], []),
        (("ld.shared.v4.f32", "--pitch", "64", "--lanes-per-row", "4"), 4, 4, [], []),
        (("ld.shared.v2.u32", "--pitch", "0"), 1, 1, [], []),
    ],
)
def test_conflicts_counts_wavefronts(
    answer,
    json_answer,
    words: tuple[str, ...],
    wavefronts: int,
    least: int,
    pitches: list[int],
    swizzles: list[int],
) -> None:
    data = json_answer("conflicts", *words)
    assert (data["wavefronts"], data["least"]) == (wavefronts, least)
    assert data["pitches without conflicts"] == pitches
    assert data["swizzles without conflicts"] == swizzles
    assert bool(data["collisions"]) == (wavefronts > least)
    text = answer("conflicts", *words)
    assert f"{wavefronts} wavefront" in text
    assert ("without conflicts: rows" in text) == bool(pitches)
    for pitch in pitches:  # what is advised has none indeed
        again = [word if word != data_pitch(words) else str(pitch) for word in words]
        assert json_answer("conflicts", *again)["wavefronts"] == least
    assert answer("conflicts", *words, "--colour", "wavefront", "--svg").startswith("<svg")


@pytest.mark.parametrize(
    ("words", "wavefronts", "least", "layouts"),
    [
        (("--layout", "(64,64):(64,1)"), 32, 4, ["Swizzle<3,3,3> o (64,64):(64,1)"]),
        (("--layout", "(64,64):(1,64)"), 32, 4, ["Swizzle<3,3,3> o (64,64):(1,64)"]),
        (("--layout", "Swizzle<3,3,3> o (64,64):(64,1)"), 4, 4, []),
        (("--layout", "Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)"), 4, 4, []),
        (("--layout", "(64,64):(72,1)"), 4, 4, []),
        (("--layout", "(64,128):(128,1)"), 32, 4, ["Swizzle<3,3,4> o (64,128):(128,1)"]),
        (("--layout", "(64,64):(64,1)", "--type", "e4m3"), 16, 4, ["Swizzle<2,4,3> o (64,64):(64,1)"]),
        ((X4, "--layout", memory.Tile(16, 64, 64, swizzle=64).cute), 4, 4, []),
        (("ld.shared.b32", "--layout", "(32,32):(33,1)"), 1, 1, []),
        (("ld.shared.b32", "--layout", "(32,32):(32,1)"), 32, 1, []),
    ],
)
def test_conflicts_in_a_cute_layout(
    answer, json_answer, words: tuple[str, ...], wavefronts: int, least: int, layouts: list[str]
) -> None:
    data = json_answer("conflicts", *words)
    assert (data["wavefronts"], data["least"]) == (wavefronts, least)
    assert data["layouts without conflicts"] == layouts
    for layout in layouts:  # what is advised has none indeed
        again = [layout if ":" in word else word for word in words]
        assert json_answer("conflicts", *again)["wavefronts"] == least
        assert f"without conflicts: {layout}" in answer("conflicts", *words)
    assert answer("conflicts", *words, "--svg").startswith("<svg")


def test_a_swizzle_of_cute(answer, json_answer) -> None:
    """Its rows are as long as it takes for their number to be XORed in; elements are those of the access."""
    data = json_answer("conflicts", "--swizzle", "Swizzle<3,3,4>")
    assert (data["access"], data["pitch"], data["wavefronts"]) == (X4, 256, 4)
    assert data["swizzle"] == "Swizzle<3,3,4>"
    data = json_answer("conflicts", X4, "--swizzle", "Swizzle<3,3,4>", "--pitch", "128")
    assert data["wavefronts"] > 4 and data["swizzles without conflicts"] == [128]
    assert "address bits 4-6 are XORed with bits 7-9" in answer("conflicts", "--swizzle", "Swizzle<3,4,3>")
    assert "address bits 5-7 are XORed" in answer("conflicts", "ld.shared.f32", "--swizzle", "Swizzle<3,3,4>")


def data_pitch(words: tuple[str, ...]) -> str:
    return words[words.index("--pitch") + 1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("descriptor",), "give a descriptor, such as 0x4000004000010040, or a --tile"),
        (("descriptor", "0x10000000000000000"), "it has 64 bits"),
        (("descriptor", "0x4000"), "bit 14 is 1, but belongs to no field"),
        (("descriptor", "1", "--tile", "rows=64"), "bits is missing"),
        (("descriptor", "1", "--instruction", "mma.m16n8k64.s4"), "only wgmma reads through descriptors"),
        (("descriptor", "1", "--instruction", WGMMA, "--operand", "D"), "in registers, not in shared memory"),
        (("conflicts", "mma.m16n8k64.s4"), "conflicts are those of ldmatrix, stmatrix, ld.shared"),
        (("conflicts", "ld.shared.v4.f64"), "a lane reads or writes at most 16 bytes"),
        (("conflicts", X4, "--pitch", "72"), "rows are a multiple of 16 bytes apart"),
        (("conflicts", X4, "--swizzle", "48"), "swizzle of 48 bytes: there are 0, 32, 64, 128"),
        (("conflicts", X4, "--lanes-per-row", "2"), "ldmatrix reads whole rows"),
        (("conflicts", X4, "--column", "8"), "rows begin at multiples of 16 bytes"),
        (("conflicts", "ld.shared.u8", "--lanes-per-row", "33"), "it takes 1 to 32"),
        (("conflicts", "--swizzle", "Swizzle<4,3,3>"), "at most as many bits as the shift"),
        (("conflicts", "--swizzle", "Swizzle<3,3>"), "it is written Swizzle<3,3,4>"),
        (("conflicts", "--layout", "(64,64):(64,1)", "--pitch", "8"), "leave out --pitch and --swizzle"),
        (("conflicts", "--layout", "64:1"), "a matrix has two modes"),
        (("conflicts", "--layout", "(64,64):(64,2)"), "the 16 bytes that a lane of"),
        (("conflicts", "--layout", "(4,64):(64,1)"), "index 4 of a mode that has 4"),
        (("conflicts", "--layout", "nonsense"), "it is written shape:stride"),
        (("conflicts", "--layout", "(64,64):(64,1)", "--type", "f17"), "f17"),
    ],
)
def test_refusals_say_what_is_wrong(refused, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(*words)
