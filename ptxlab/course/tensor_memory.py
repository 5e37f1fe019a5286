"""Exercises of lesson 22: tensor memory, descriptors of tcgen05, where D lies, and how a thread gets it."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import PtxlabError
from ..isa.instruction_descriptor import InstructionDescriptor
from ..isa.tensor_memory import COLUMNS, accessible_lanes
from .answers import WrongForm, whole_number_set, whole_numbers
from .checking import Sentences, checks, correct, otherwise, when
from .tensor_memory_pictures import WARP, load_form, mma_form

_WIDTH, _DEPTH = 96, 64  # columns of an accumulator, K of A


@checks("22.1")
def _columns(answer: object) -> Sentences:
    needed, allocated, blocks = whole_numbers(answer, 3, "`(columns needed, columns allocated, blocks)`")
    right = 2 * _WIDTH + _DEPTH // 2
    power = 1 << (right - 1).bit_length()
    return {
        correct((needed, allocated, blocks) == (right, power, COLUMNS // power)): f"{right} are needed, and "
        f"{power} is the next power of two. A third block has to wait in `tcgen05.alloc` until one of the "
        "two has finished: the instruction blocks, it does not fail.",
        when(needed == _WIDTH + _DEPTH // 2): "There are two accumulators.",
        when(needed == 2 * _WIDTH + _DEPTH): "A is f16: two of its elements share a word of 32 bits.",
        when(needed == 2 * _WIDTH): "Those are the accumulators. A is there too.",
        when(needed != right): f"A row of D takes {_WIDTH} words of its lane, one for each f32; a row of A "
        "takes half as many words as it has elements.",
        when(allocated == right): "The first is right. But `tcgen05.alloc` takes only powers of two from 32 "
        "on.",
        when(allocated != power): "The first is right. Which is the next power of two?",
        otherwise: f"The first two are right. How many times do {power} columns fit into {COLUMNS}?",
    }


_WARPS, _LANE, _COLUMN = 12, 71, 0x20


@checks("22.2")
def _warps(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of warps")
    band = _LANE // WARP
    expected = {warp for warp in range(_WARPS) if _LANE in accessible_lanes(warp)}
    digits = int(f"{_LANE:x}")  # its two hexadecimal digits, read as decimal ones
    return {
        correct(submitted == expected): f"`{_LANE:x}` in the upper half is lane {_LANE}, in the third "
        "quarter. The rank of a warp modulo 4 decides, so a kernel can let warps 4 to 7 load D without "
        "renumbering them.",
        when(not submitted): "Some warps can.",
        when(any(not 0 <= warp < _WARPS for warp in submitted)): "Those are not all warps of the block. "
        f"They are 0 to {_WARPS - 1}.",
        when(submitted == set(range(_WARPS))): "No warp reaches all lanes: each has a quarter of them.",
        when(submitted == {band}): "That is one of them. Look at the slider again: what does warp 6 have in "
        "common with warp 2?",
        when(submitted <= {warp for warp in range(_WARPS) if warp % 4 == digits // WARP}): "The address is "
        f"hexadecimal: 0x{_LANE:x} is not {_LANE:x}.",
        when(submitted <= {warp for warp in range(_WARPS) if warp % 4 == _COLUMN // WARP}): "You took the "
        "column. The lane is in the upper 16 bits of an address.",
        when(submitted < expected): "Not all of them yet. The rank of a warp modulo 4 decides.",
        otherwise: "Upper 16 bits: the lane. Divide it by 32: that is the quarter, and the rank of the warp "
        "modulo 4.",
    }


_WANTED = InstructionDescriptor("f16", m=128, n=160, a="bf16", b="bf16", d="f32")


def _decoded(number: int) -> tuple[InstructionDescriptor | None, str]:
    """The fields of a reader's descriptor, or what is wrong with its bits."""
    try:
        return InstructionDescriptor.decode(number, "f16"), ""
    except PtxlabError as error:
        return None, f"That is not a descriptor of `kind::f16`: {error}."


@checks("22.3")
def _build(answer: object) -> Sentences:
    (number,) = whole_numbers(answer, 1, "one number of 32 bits")
    found, refusal = _decoded(number)
    m, n = _WANTED.m, _WANTED.n
    types = _WANTED.code & 0xFFFF
    return {
        correct(number == _WANTED.code): f"{n} / 8 = {n // 8} from bit 17 on, {m} / 16 = {m // 16} from bit "
        "24 on, and a 1 for each of the three types, at bits 4, 7 and 10. A kernel usually has it as a "
        "constant.",
        when(number == types | n << 17 | m << 24): "M and N are not stored as they are: units of 16, and of "
        "8.",
        when(number == types | n // 8 << 17 | m // 16 << 23): "Bit 23 is not used: M begins at bit 24.",
        when(number == types | n // 8 << 17 | m // 8 << 24): "M counts units of 16; only N counts units of "
        "8.",
        when(number == types | n // 16 << 17 | m // 16 << 24): "N counts units of 8; only M counts units of "
        "16.",
        when(found is None): refusal,
        when(found is not None and found.m != m): f"It says M = {(found.m if found else 0)}. Bits 24 to 28 "
        "hold M / 16.",
        when(found is not None and found.n != n): f"M is right. It says N = {(found.n if found else 0)}. "
        "Bits 17 to 22 hold N / 8.",
        when(found is not None and (found.a, found.b) != ("bf16", "bf16")): "The shape is right. The types "
        "of A (bits 7 to 9) and B (bits 10 to 12) are not: what is the code of bf16?",
        when(found is not None and found.d != "f32"): "Shape and the types of A and B are right. D would be "
        "f16: look at bits 4 and 5.",
        otherwise: "Shape and types are right, but some other bit is 1: transpose, negate or saturate.",
    }


_ROW, _COL, _N = 21, 100, 128
_F = mma_form("mma.cta_group::1.kind::f16", m=64, n=_N)
_E = mma_form("mma.ws.cta_group::1.kind::f16", m=64, n=_N)
_G = mma_form("mma.ws.cta_group::1.kind::f16", m=32, n=_N)


@checks("22.4")
def _places(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 6, "three times lane and column")
    pairs = list(zip(submitted[::2], submitted[1::2], strict=True))
    where = [form.d.where(_ROW, _COL)[0] for form in (_F, _E, _G)]
    expected = [(place.lane, place.column) for place in where]
    first, second, third = (pair == right for pair, right in zip(pairs, expected, strict=True))
    return {
        correct(first and second and third): "Three layouts, one idea: keep all four quarters of the lanes "
        "busy, each with its own rows or its own columns. To check: `ins.d.where(21, 100)`.",
        when(pairs[0][0] == _ROW): "M = 64: row r is not in lane r. each quarter of the lanes has 16 rows: "
        "in which quarter is this one?",
        when(pairs[0][0] == 2 * _ROW): "M = 64: rows do not take every second lane. 16 rows stay together, "
        "then 16 lanes are free.",
        when(not first): f"M = 64: 16 rows in each quarter of 32 lanes. Row {_ROW} is number {_ROW % 16} of "
        f"its 16; all {_N} columns are side by side.",
        when(pairs[1] == pairs[0]): "M = 64 is right. With `.ws` no lane is left free: half of the columns "
        "are below the others.",
        when(pairs[1] == (_ROW, _COL)): f"M = 64 is right. With `.ws`, columns {_N // 2} and on are in "
        "lanes 64 and on.",
        when(not second and pairs[1][0] == expected[1][0]): f"The lane is right. Columns {_N // 2} and on "
        "begin at column 0 of tensor memory again.",
        when(not second): f"M = 64 is right. With `.ws`: rows in lanes 0 to 63; columns from {_N // 2} on "
        "in lanes 64 to 127.",
        when(pairs[2] == pairs[1]): "Both with M = 64 are right. With M = 32 there are four groups of "
        "columns, a quarter each.",
        when(pairs[2][0] == expected[2][0]): f"All lanes are right. Each quarter of the {_N} columns begins "
        "at column 0 again.",
        otherwise: f"Both with M = 64 are right. With M = 32: which quarter of the {_N} columns is {_COL} "
        "in, and which one is it within that quarter?",
    }


_MEANT = InstructionDescriptor("f16", m=128, n=192, a="bf16", b="bf16", d="f32")
_SLIPPED = _MEANT.code & ~(31 << 24) | _MEANT.m // 16 << 23


@checks("22.5")
def _repair(answer: object) -> Sentences:
    (number,) = whole_numbers(answer, 1, "one number of 32 bits")
    found, refusal = _decoded(number)
    slipped = InstructionDescriptor.decode(_SLIPPED, "f16")
    return {
        correct(number == _MEANT.code): f"It said M = {slipped.m}: 128 / 16 had been shifted by 23 bits "
        "instead of 24. That is a legal product, with layout F, so nothing complains. The pattern of the "
        "lanes gives it away.",
        when(number == _SLIPPED): "That is the descriptor that the kernel has.",
        when(found is None): refusal,
        when(found is not None and found.m == slipped.m): f"Its M is still {slipped.m}. M / 16 belongs in "
        "bits 24 to 28.",
        when(found is not None and found.m == 256): "M = 256 is for two CTAs. M / 16 belongs in bits 24 to "
        "28.",
        when(found is not None and found.m != _MEANT.m): f"It says M = {(found.m if found else 0)}. M / 16 "
        "belongs in bits 24 to 28.",
        when(found is not None and found.n != _MEANT.n): "M is right now, but it says N = "
        f"{(found.n if found else 0)}. Leave N as it was.",
        otherwise: "M and N are right. Leave the lower 16 bits as they were: the types, and no other flag.",
    }


_AT = (77, 13)
_PLAIN, _FRAGMENT = load_form("32x32b.x64"), load_form("16x256b.x8")


@checks("22.6")
def _threads(answer: object) -> Sentences:
    one, r_one, two, r_two = whole_numbers(answer, 4, "twice thread and register")
    plain, fragment = (form.slots(*_AT)[0] for form in (_PLAIN, _FRAGMENT))
    row, column = _AT[0] % 16, _AT[1]
    return {
        correct(
            (one, r_one, two, r_two) == (plain.thread, plain.register, fragment.thread, fragment.register)
        ): "With "
        "`32x32b` a thread has a row of D to itself: good for a softmax, which needs sums over rows. With "
        "`16x256b` it has what an `mma` would have given it, so the code after it can stay as it is.",
        when((one, r_one) == (_AT[1], _AT[0])): "With `32x32b`: a thread has a lane, and its registers are "
        "columns, not the other way round.",
        when(one == _AT[0] % WARP): "With `32x32b`: count the threads of all four warps, 0 to 127.",
        when((one, r_one) != (plain.thread, plain.register)): "With `32x32b`: each thread has a lane of its "
        "own, and register r holds column r.",
        when(two == fragment.thread % WARP): "The first is right. Row 77 is in warp 2, whose threads are 64 "
        "to 95.",
        when(not 64 <= two < 96): "The first is right. Lane 77 belongs to warp 2, and no other warp can "
        "load it.",
        when(two != fragment.thread): f"The first is right. In its warp it is row {row} of 16: rows r and r "
        "+ 8 belong to the same four threads, 4 (r % 8) and on, each with two neighbouring columns of eight.",
        when(r_two == fragment.register % 4): f"Three are right. Column {column} is not among the first "
        "eight: the next eight columns have the next four registers.",
        otherwise: "Three are right. Of four registers two are for row r, two for row r + 8; this is row "
        f"{row}, column {column % 8} of the eight columns from {column // 8 * 8} on.",
    }


_FP8 = mma_form("mma.cta_group::1.kind::f8f6f4", m=64, n=64).a_from("tensor")
_A_ROW, _A_K, _A_AT = 40, 27, 0x00100020


@checks("22.7")
def _operand(answer: object) -> Sentences:
    lane, column, low = whole_numbers(answer, 3, "`(lane, column, lowest bit)`")
    (place,) = _FP8.tensors["A"].where(_A_ROW, _A_K)
    first_lane, first_column = _A_AT >> 16, _A_AT & 0xFFFF
    expected = place.lane + first_lane, place.column + first_column, place.low
    return {
        correct((lane, column, low) == expected): "So D may also begin at lane 16, and must do so if A "
        "does: a product in the upper half of each quarter and one in the lower half share columns of "
        "tensor memory. That is how M = 64 wastes nothing.",
        when(lane == place.lane): "That is its lane if A began at lane 0. The upper half of the address is "
        f"0x{first_lane:04x}.",
        when(lane in (_A_ROW, _A_ROW + first_lane)): "With M = 64 row r is not r lanes from the first: 16 "
        "rows are in each quarter of 32 lanes.",
        when(lane != expected[0]): f"Which 16 rows is row {_A_ROW} in? Each 16 rows begin 32 lanes further; "
        "A begins at lane 16.",
        when(column == place.column): f"The lane is right. A begins at column 0x{first_column:x}, not at 0.",
        when(column == first_column + _A_K): "The lane is right. Four elements of 8 bits share a column.",
        when(column != expected[1]): "The lane is right. Four elements of 8 bits share a column, and A "
        f"begins at column {first_column}.",
        otherwise: "Lane and column are right. The first of four is in bits 0 to 7.",
    }


_SHUFFLED = (
    "tcgen05.ld", "tcgen05.commit", "tcgen05.alloc", "fence.proxy.async", "tcgen05.dealloc",
    "mbarrier.try_wait, until it succeeds", "tcgen05.mma", "tcgen05.wait::ld", "st.shared of A and B",
    "tcgen05.fence::after_thread_sync",
)  # fmt: skip
#: (earlier, later, why), the first that an order breaks is said.
_BEFORE = (
    (2, 6, "D needs a place before a product can go there"),
    (8, 6, "A and B must be in shared memory before they are multiplied"),
    (8, 3, "the fence makes the stores *before* it visible to the tensor core"),
    (3, 6, "without the fence before it, the product may read what was in shared memory before"),
    (6, 1, "`commit` covers what its thread has issued before it"),
    (1, 5, "nothing arrives at the mbarrier before `commit` is issued"),
    (5, 0, "the product is complete only when the wait is over"),
    (5, 9, "this fence comes after the wait, and orders what follows"),
    (9, 0, "`ld` is asynchronous: the fence keeps it after the wait"),
    (0, 7, "`wait::ld` waits for loads that have already been issued"),
    (7, 4, "tensor memory may be freed only when D has been loaded"),
    (2, 4, "what is freed must have been allocated"),
)


@checks("22.8")
def _order(answer: object) -> Sentences:
    order = whole_numbers(answer, len(_SHUFFLED), "a list of the numbers 0 to 9")
    if sorted(order) != list(range(len(_SHUFFLED))):
        raise WrongForm(f"{list(order)}: every number from 0 to 9 appears once in an order.")
    place = {step: at for at, step in enumerate(order)}
    broken = [(early, late, why) for early, late, why in _BEFORE if place[early] > place[late]]
    early, late, why = broken[0] if broken else (0, 0, "")
    return {
        correct(not broken): "Three of them are easily forgotten, since a kernel often gives the right "
        "numbers without them: the fence for the async proxy, the fence after the wait, and `wait::ld`. "
        "`dealloc` is easily forgotten, too; then expect the next blocks to hang in `alloc`.",
        when(order == tuple(range(len(_SHUFFLED)))): "That is the order in the list. What comes first, and "
        "what comes last?",
        otherwise: f"You have number {late} before number {early}, but {why}.",
    }


class _Kernel(NamedTuple):
    """What a kernel says of a product and of a load of its D, and who asks."""

    mnemonic: str
    descriptor: int
    d: int  # address of D
    load: str
    address: int  # of the load
    thread: int
    register: int

    def element(self) -> tuple[int, int]:
        """Row and column of D in that register."""
        lane, column = load_form(self.load).locate(self.thread, self.register, self.address)
        form = mma_form(self.mnemonic, self.descriptor)
        ((row, col),) = form.d.holds(lane - (self.d >> 16), column - (self.d & 0xFFFF))
        return row, col

    def words(self) -> str:
        """The kernel in a sentence."""
        return (
            f"`tcgen05.{self.mnemonic}` with descriptor `0x{self.descriptor:08x}` and D at "
            f"`0x{self.d:08x}`; then `tcgen05.ld.{self.load}` at `0x{self.address:08x}` (plus 32 lanes for "
            f"each warp): **register {self.register} of thread {self.thread}?**"
        )


_KERNELS = (
    _Kernel("mma.cta_group::1.kind::f16", 0x8100490, 0x40, "32x32b.x16", 0x60, 77, 5),
    _Kernel("mma.cta_group::1.kind::f16", 0x4100490, 0x100080, "16x256b.x4", 0x1000A0, 58, 9),
    _Kernel("mma.ws.cta_group::1.kind::f16", 0x2200490, 0x20, "32x32b.x32", 0x20, 70, 11),
)


@checks("22.9")
def _capstone(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 6, "three times row and column")
    pairs = list(zip(submitted[::2], submitted[1::2], strict=True))
    first, second, third = (each.element() for each in _KERNELS)
    _, halves, quarters = _KERNELS
    m64, ws = (mma_form(each.mnemonic, each.descriptor) for each in (halves, quarters))
    lane, _ = load_form(halves.load).locate(halves.thread, halves.register, halves.address)
    return {
        correct(pairs == [first, second, third]): "That is all there is between a Blackwell tensor core and "
        "a thread. Every GEMM epilogue does this arithmetic, usually hidden in a CuTe layout.",
        when(pairs[0][1] == first[1] - 32): "The first kernel: the load begins 0x20 columns after the start "
        "of D, and they count.",
        when(pairs[0][1] == first[1] + 0x40): "The first kernel: that is the column of tensor memory. D "
        "begins at column 0x40.",
        when(pairs[0] != first): "The first kernel: M = 128, so lanes are rows; `32x32b`, so threads are "
        "lanes and registers are columns from 0x60 on, while D begins at 0x40.",
        when(pairs[1][0] == lane): "The first is right. The second kernel: that is the lane. M = 64, and D "
        "begins at lane 16.",
        when(pairs[1][0] != second[0]): "The first is right. The second kernel: the load gives the lane. M "
        f"= {m64.m}: subtract the 16 lanes at which D begins; then each quarter of 32 lanes has 16 rows.",
        when(pairs[1][1] == second[1] - 32): "The row is right. The second kernel's load begins 0x20 "
        "columns after the start of D.",
        when(pairs[1] != second): "The row is right. The second kernel: four registers for every eight "
        "columns, two of them neighbours in the same row.",
        when(pairs[2][0] == quarters.thread): f"Two are right. The third kernel: M = {ws.m}, so there is no "
        f"row {quarters.thread}. The lanes beyond hold other columns of the same rows.",
        when(pairs[2][0] != third[0]): f"Two are right. The third kernel: M = {ws.m}; each quarter of the "
        "lanes has all rows.",
        when(pairs[2][1] == quarters.register): "Two are right, and the row. Which group of columns is in "
        "this quarter of the lanes?",
        otherwise: f"Two are right, and the row. N = {ws.n}: each quarter of the lanes has a quarter of the "
        "columns.",
    }
