"""From an opcode to the function that computes it, by the rows of `opcode_table.py`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...errors import PtxlabError, listing, quoted
from .approximations import FUNCTIONS
from .opcode import Array, Function, Opcode, OpcodeRow, dtype_of, expand
from .opcode_table import ROWS


@dataclass(frozen=True)
class ScalarOperation:
    """A scalar PTX instruction; calling it computes results from sources, arrays of raw bits.

    The arrays are of unsigned integers of the widths of `source_types`, of bool for predicates. A predicate,
    carry or borrow is the last source. Sources broadcast against each other; several results are a tuple.

    >>> add = operation("add.cc.u32")
    >>> add.source_types, add.result_types
    (('u32', 'u32'), ('u32', 'pred'))
    >>> add(np.uint32([0xFFFFFFFF]), np.uint32([2]))
    (array([1], dtype=uint32), array([ True]))
    """

    opcode: str
    source_types: tuple[str, ...]
    result_types: tuple[str, ...]
    function: Function = field(repr=False, compare=False)
    optional: int = 0  # sources at the end that may be left out
    registers: tuple[str, ...] = ()  # types that registers for results and then sources must fit

    @cached_property
    def sources(self) -> tuple[np.dtype[Any], ...]:
        """The dtypes of the sources."""
        return tuple(dtype_of(name) for name in self.source_types)

    @cached_property
    def results(self) -> tuple[np.dtype[Any], ...]:
        """The dtypes of the results."""
        return tuple(dtype_of(name) for name in self.result_types)

    @cached_property
    def _warns(self) -> bool:
        """Whether NumPy may warn, as it does about floating-point numbers."""
        return any("f" in name or name.startswith("e") for name in (*self.source_types, *self.result_types))

    def __call__(self, *sources: Array) -> Any:
        """The result for sources, or a tuple of results."""
        plain = len(sources) == len(self.sources)
        for source, dtype in zip(sources, self.sources, strict=False):
            plain = plain and type(source) is np.ndarray and source.dtype == dtype and source.ndim > 0
        if not plain:
            return self._checked(*sources)
        if not self._warns:
            return self.function(*sources)
        with np.errstate(all="ignore"):
            return self.function(*sources)

    def _checked(self, *sources: Array) -> Any:
        """Like a call, for sources that may be missing, of other types, or scalars."""
        arrays = [np.asarray(source) for source in sources]
        if not len(self.sources) - self.optional <= len(arrays) <= len(self.sources):
            raise PtxlabError(f"{self.opcode}: it takes {len(self.sources)} sources, not {len(arrays)}")
        dtypes = tuple(array.dtype for array in arrays)
        if dtypes != self.sources[: len(dtypes)]:
            raise PtxlabError(
                f"{self.opcode}: its sources are arrays of {listing(self.sources)}, not of {listing(dtypes)}"
            )
        scalar = all(array.ndim == 0 for array in arrays)
        with np.errstate(all="ignore"):  # NumPy's rules for scalars differ from those for arrays
            result = self.function(*(np.atleast_1d(array) for array in arrays))
        if isinstance(result, tuple):
            return tuple(part[0] if scalar else part for part in result)
        return result[0] if scalar else result


@lru_cache(maxsize=1)
def _rows() -> dict[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[str, OpcodeRow]]:
    """Every opcode of the table by its key, the same for all spellings."""
    return {Opcode.parse(text).key: (text, row) for row in ROWS for text in expand(row.pattern)}


@lru_cache(maxsize=1)
def _approximations() -> dict[tuple[str, tuple[str, ...], tuple[str, ...]], ScalarOperation]:
    """The `.approx` and `.full` instructions, which follow tables of the chip."""
    operations = {}
    for text, function in FUNCTIONS.items():
        parts = Opcode.parse(text)
        sources = (parts.type, parts.type) if parts.name == "div" else (parts.type,)
        registers = (parts.type, *sources)
        operations[parts.key] = ScalarOperation(text, sources, (parts.type,), function, registers=registers)
    return operations


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """The first word of every scalar instruction, the `.approx` ones included.

    >>> "ex2" in names(), "shfl" in names()
    (True, False)
    """
    return frozenset(key[0] for key in (*_rows(), *_approximations()))


def opcodes() -> Iterator[str]:
    """Every opcode that `operation` computes from the table.

    >>> "shf.l.wrap.b32" in set(opcodes())
    True
    """
    return (text for text, _ in _rows().values())


@lru_cache(maxsize=None)
def operation(opcode: str) -> ScalarOperation | None:
    """The function of a PTX opcode with all its modifiers; None for one that is not scalar arithmetic.

    An opcode with a scalar instruction's name and modifiers that it does not have is a `PtxlabError`.

    >>> prmt = operation("prmt.b32")
    >>> hex(prmt(np.uint32(0x33221100), np.uint32(0x77665544), np.uint32(0x7531)))
    '0x77553311'
    >>> operation("ld.global.u32") is None
    True
    """
    parts = Opcode.parse(opcode)
    if parts.key in _approximations():
        return _approximations()[parts.key]
    entry = _rows().get(parts.key)
    if entry is not None:
        text, row = entry
        sources, results = row.types(parts, row.sources), row.types(parts, row.results)
        integers = (*row.integers(row.results), *row.integers(row.sources))
        registers = tuple(
            "s32" if integer else name for name, integer in zip((*results, *sources), integers, strict=True)
        )
        function = row.build(Opcode.parse(text))
        return ScalarOperation(text, sources, results, function, row.sources.count("?"), registers)
    if parts.name not in names():
        return None
    texts = [*opcodes(), *(approximation.opcode for approximation in _approximations().values())]
    same_name = [text for text in texts if text.split(".")[0] == parts.name]
    similar = difflib.get_close_matches(opcode, same_name, 3, 0)
    raise PtxlabError(
        f"{quoted(opcode)}: no instruction is spelled so; similar ones are {', '.join(similar)}"
    )
