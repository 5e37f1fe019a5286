"""The commands `simulate`, `profile` and `compare`: kernels from files, without a GPU."""

from __future__ import annotations

import codecs
import copy
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_path, check_room
from .._util.files import write_atomically
from ..errors import PtxlabError, counted, listing, quoted
from ..simulator.peaks import find_card
from ..simulator.timing.chip_timings import find_timing
from ..simulator.timing.launch_profile import LaunchProfile
from ..views.labels import time_text
from ..views.predicted_time import comparison, profile_facts, profile_text
from ..views.roofline import bounds_table, least_time
from ..views.source_margin import counts_table
from .commands import Json
from .output import Style, as_json, as_text

if TYPE_CHECKING:
    from ..simulator.kernel import Kernel

_FILLS = ("zeros", "ones", "range", "normal", "bits")
_SHOWN_VALUES = 6
#: PTX's names of types that NumPy spells otherwise; u8 is left out, which NumPy takes for eight bytes.
_PTX_TYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "s8": "int8", "s16": "int16",
    "s32": "int32", "s64": "int64", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}  # fmt: skip
_MAX_SOURCE = 16 << 20  # bytes of a source file
_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]{1,16}|\d{1,20})")
_Sizes = tuple[int, ...]
_SIZES = re.compile(r"\d{1,10}([,x]\d{1,10}){0,2}")


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """The options of a launch: its sizes, its arguments, how its kernel is compiled."""

    grid: Annotated[str, "blocks (default: 1)", "X,Y,Z"] = "1"
    block: Annotated[str, "threads of a block (default: 32)", "X,Y,Z"] = "32"
    cluster: Annotated[str | None, "blocks of a cluster, where the kernel does not state it", "X,Y,Z"] = None
    arg: Annotated[
        list[str] | None,
        "a number, x.npy, or FILL:TYPE:SHAPE with zeros, ones, range, normal or bits; once per argument",
        "VALUE",
    ] = None
    name: Annotated[str | None, "name of the kernel, where the file has several"] = None
    target: Annotated[str, "what CUDA C++ is compiled for (default: sm_90a)"] = "sm_90a"
    option: Annotated[list[str] | None, "option for NVRTC, e.g. --option=-DN=4", "FLAG"] = None
    shared: Annotated[int, "dynamic shared memory", "BYTES"] = 0
    seed: Annotated[int, "seed of the fills normal and bits (default: 0)"] = 0

    @property
    def shape(self) -> tuple[_Sizes, _Sizes, _Sizes | None]:
        """Grid, block and cluster."""
        cluster = None if self.cluster is None else launch_sizes(self.cluster, "--cluster")
        return launch_sizes(self.grid, "--grid"), launch_sizes(self.block, "--block"), cluster

    def kernel(self, file: str) -> Kernel:
        """The kernel in the file."""
        from ..simulator.kernel import build_kernel

        return build_kernel(
            _source(file), self.name, self.target, tuple(self.option or ()), file=_file_name(file)
        )

    def values(self) -> list[Any]:
        """The arguments."""
        rng = np.random.default_rng(abs(self.seed))
        return [parse_value(text, rng) for text in self.arg or ()]


def simulate(
    style: Style,
    file: Annotated[str, "CUDA C++ or PTX"],
    *,
    json: Json = False,
    launch: LaunchOptions,
    check: Annotated[
        Literal["list", "error", "off"],
        "hazards: list them, fail at the first (exit status 1), or do not look (default: list)",
    ] = "list",
    card: Annotated[
        str, "whose published peaks bound the time (default: H200)", "PRODUCT", "--chip"
    ] = "H200",
    limit: Annotated[
        int | None, "the most instructions that warps may execute: a loop that never ends is an error", "N"
    ] = None,
    save: Annotated[str | None, "write all arrays into a file of np.savez", "FILE.npz"] = None,
) -> str:
    """Run a kernel, say what it executed and which arrays it wrote.

    examples:
      ptxlab simulate twice.cu --block 128 --arg ones:float32:128   an array made here
      ptxlab simulate saxpy.cu --grid 8 --arg 2.5 --arg x.npy --arg y.npy --save z.npz
      ptxlab simulate gemm.cu --grid 8,8 --check error --chip A100 --arg a.npy
      ptxlab simulate all.cu --name "gemm<64>" --option=-DSTAGES=3 --shared 65536
    """
    grid, block, cluster = launch.shape
    program, values = launch.kernel(file), launch.values()
    before = copy.deepcopy(values)
    peaks = find_card(card)
    look: bool | str = "error" if check == "error" else check == "list"
    check_count(program, values)
    result = program.simulate(
        grid, block, *values, shared=launch.shared, cluster=cluster, check=look, limit=limit
    )
    if save is not None:
        _save(save, values)
    changes = array_changes(before, values)
    if json:
        lines: dict[str, int] = {str(line): count for line, count in result.lines.items()}
        return as_json(
            {
                "kernel": program.name,
                "counts": dict(result.counts),
                "lines": lines,
                "conflicts": {str(line): count for line, count in result.conflicts.items()},
                "bytes": result.bytes,
                "hazards": [asdict(hazard) for hazard in result.hazards],
                "notes": [asdict(note) | {"evidence": note.evidence} for note in result.notes],
                "chip": peaks.name,
                "bounds": [bound._asdict() for bound in result.bounds(peaks.name)],
                "arrays": changes,
            }
        )
    texts = [f"{program.title}: {sum(result.counts.values()):,} instructions executed by warps"]
    texts += [
        f"  argument {row['argument']}, {row['type']}: {row['changed']} elements changed; {row['values']}"
        for row in changes
    ]
    texts += ["", as_text(counts_table(result), style, "  ")]
    if result.conflicts:
        lost = sum(result.conflicts.values())
        texts += ["", f"bank conflicts: {lost:,} wavefronts of shared memory more than without"]
    texts += ["", "hazards:"] if result.hazards else []
    texts += [f"  {hazard.sentence}" for hazard in result.hazards]
    texts += ["", "notes:"] if result.notes else []
    texts += [f"  {note.sentence} ({note.evidence})" for note in result.notes]
    bounds = result.bounds(peaks.name)
    if bounds:
        least, reason = least_time(bounds, peaks.name)
        head = f"on an {peaks.name} at least {time_text(least)}, {reason}"
        texts += ["", head, as_text(bounds_table(bounds), style, "  ")]
    return "\n".join(texts)


def profile(
    style: Style,
    file: Annotated[str, "CUDA C++ or PTX"],
    *,
    json: Json = False,
    compare: Annotated[
        str | None, "another version of the kernel, with the same arguments: what changed since", "FILE"
    ] = None,
    launch: LaunchOptions,
    card: Annotated[str, "the chip whose time is predicted (default: H200)", "PRODUCT", "--chip"] = "H200",
) -> str:
    """The predicted time of a launch and where it goes, or two launches side by side.

    examples:
      ptxlab profile twice.cu --grid 4096 --block 256 --arg ones:f4:1048576
      ptxlab profile --compare before.cu after.cu --grid 512 --arg zeros:f4:65536
    """
    result = _profiled(file, launch, card)
    if compare is None:
        return as_json(profile_facts(result)) if json else profile_text(result)
    before = _profiled(compare, launch, card)
    if json:
        return as_json({"before": profile_facts(before), "after": profile_facts(result)})
    names = _file_name(compare), _file_name(file)
    ratio = before.microseconds / result.microseconds
    words = f"{ratio:.2f} times as fast as" if ratio >= 1 else f"{1 / ratio:.2f} times as slow as"
    head = f"{names[1]}: {result.microseconds:,.1f} µs on an {result.chip}, predicted; {words} {names[0]}"
    return f"{head}\n\n{as_text(comparison(before, result, names), style, '  ')}"


def compare(
    style: Style,
    file: Annotated[str, "CUDA C++ or PTX"],
    other: Annotated[str, "another kernel, with the same arguments"],
    *,
    json: Json = False,
    output: Annotated[
        int | None, "number of the argument to compare, from 1, where kernels write several", "N"
    ] = None,
    launch: LaunchOptions,
) -> str:
    """Where the results of two kernels part: the first element, and the first operation, that differ.

    examples:
      ptxlab compare pairs.cu inorder.cu --arg normal:f4:64 --arg zeros:f4:1
    """
    from ..simulator.history.compare import compare as compare_runs

    grid, block, cluster = launch.shape
    runs = []
    for name in (file, other):
        program, values = launch.kernel(name), launch.values()
        check_count(program, values)
        runs.append(program.run(grid, block, *values, output=output, shared=launch.shared, cluster=cluster))
    found = compare_runs(*runs)
    return found.json() if json else str(found)


def _profiled(file: str, launch: LaunchOptions, card: str) -> LaunchProfile:
    grid, block, cluster = launch.shape
    find_timing(card)
    program, values = launch.kernel(file), launch.values()
    check_count(program, values)
    return program.profile(grid, block, *values, shared=launch.shared, cluster=cluster, chip=card)


def check_count(program: Kernel, values: list[Any]) -> None:
    """Refuse a launch with too many or too few arguments."""
    if len(values) != len(program.parameters):
        parameters = f" ({', '.join(program.parameters)})" if program.parameters else ""
        raise PtxlabError(
            f"{program.title} takes {counted(len(program.parameters), 'argument')}{parameters}, found "
            f"{len(values)}; give each with --arg, e.g. --arg zeros:f32:1024 or --arg 3"
        )


def _save(file: str, values: list[Any]) -> None:
    arrays: dict[str, Any] = {
        f"arg{number}": value for number, value in enumerate(values, 1) if isinstance(value, np.ndarray)
    }
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    try:
        write_atomically(as_path(file, "--save"), content.getvalue())
    except OSError:
        raise PtxlabError(f"--save {quoted(file)}: the file cannot be written") from None


def _source(file: str) -> str:
    """The text of a file: UTF-8, with other bytes replaced, or UTF-16 with the byte order mark of Windows."""
    path = as_path(file, "file")
    reason = "it takes a file of CUDA C++ or PTX"
    try:
        if path.is_file() and path.stat().st_size <= _MAX_SOURCE:  # a named pipe would block
            content = path.read_bytes()
            is_utf16 = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            return content.decode("utf-16" if is_utf16 else "utf-8", errors="replace")
        if not path.exists():
            reason = "there is no such file"
    except OSError as error:
        reason = error.strerror or reason
    except ValueError:
        pass
    raise PtxlabError(f"{quoted(file)} cannot be read: {reason}")


def _file_name(file: str) -> str:
    """The file's name in messages; one that begins with - would be an option for the compiler."""
    name = "".join(letter if letter.isprintable() else "_" for letter in as_path(file, "file").name)
    return f"./{name}" if name.startswith("-") else name


def launch_sizes(text: str, option: str) -> tuple[int, ...]:
    """``8``, ``8,8`` or ``8x8x2``."""
    if not _SIZES.fullmatch(text.strip()):
        raise PtxlabError(f"{option} {quoted(text)}: it takes one to three numbers, e.g. 8 or 8,8")
    return tuple(int(size) for size in re.split("[,x]", text.strip()))


def parse_value(text: str, rng: np.random.Generator) -> Any:
    """A number, a file of np.save, or an array such as ``zeros:float32:64x64``."""
    if _NUMBER.fullmatch(text):
        return int(text, 0) if "x" in text.lower() else int(text)
    try:
        return float(text)
    except ValueError:
        pass
    fill, _, rest = text.partition(":")
    if fill in _FILLS and rest:
        return _filled(fill, rest, text, rng)
    if text.endswith(".npy"):
        try:
            path = as_path(text, "--arg")
            if not path.is_file():
                raise OSError
            with warnings.catch_warnings(action="ignore"):  # files of Python 2
                return np.array(np.lib.format.open_memmap(path, mode="r"), order="C")
        except Exception:  # a damaged file may raise anything
            raise PtxlabError(f"--arg {quoted(text)}: it is not a file written by np.save") from None
    raise PtxlabError(
        f"--arg {quoted(text)}: it takes a number, a file of np.save (x.npy), or an array such as "
        f"zeros:float32:64x64; there are {listing(_FILLS)}"
    )


def _filled(fill: str, rest: str, text: str, rng: np.random.Generator) -> NDArray[Any]:
    name, _, shape_text = rest.partition(":")
    try:
        dtype = np.dtype(_dtype(name))
    except TypeError:
        raise PtxlabError(f"--arg {quoted(text)}: {quoted(name)} is not a NumPy type, e.g. float32") from None
    if dtype.kind not in "iufV" or dtype.hasobject or not dtype.itemsize or dtype.names:
        raise PtxlabError(f"--arg {quoted(text)}: kernels take integers and floats, e.g. float32")
    shape = launch_sizes(shape_text, f"--arg {quoted(text)}: shape")
    count = int(np.prod(shape, dtype=object))
    check_room(count, "--arg")
    if fill == "bits":
        content = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
        return np.asarray(content.view(dtype).reshape(shape))
    values = {
        "zeros": np.zeros(count),
        "ones": np.ones(count),
        "range": np.arange(count),
    }.get(fill)
    if values is None:
        values = rng.standard_normal(count) * (1 if dtype.kind in "fV" else 100)
    with np.errstate(all="ignore"):
        return np.asarray(values.astype(dtype).reshape(shape))


def _dtype(name: str) -> Any:
    """A type by its name in NumPy, in ml_dtypes or, if NumPy has none of that name, in PTX."""
    import ml_dtypes

    name = _PTX_TYPES.get(name, name)
    return getattr(ml_dtypes, name, name) if re.fullmatch(r"\w+", name) else name


def array_changes(before: Sequence[Any], after: Sequence[Any]) -> list[dict[str, Any]]:
    """How a launch changed the arrays among its arguments."""
    return [
        _array_change(number, old, new)
        for number, (old, new) in enumerate(zip(before, after, strict=True), 1)
        if isinstance(new, np.ndarray)
    ]


def _array_change(number: int, old: NDArray[Any], new: NDArray[Any]) -> dict[str, Any]:
    bits = f"u{new.dtype.itemsize}" if new.dtype.itemsize in (1, 2, 4, 8) else "u1"
    old_bits, new_bits = (array.reshape(-1).view(bits) for array in (old, new))
    shown = ", ".join(f"{value}" for value in new.reshape(-1)[:_SHOWN_VALUES])
    if new.size > _SHOWN_VALUES:
        shown += ", ..."
    return {
        "argument": number,
        "type": f"{new.dtype}{list(new.shape)}",
        "changed": int(np.count_nonzero(old_bits != new_bits)),
        "values": shown,
    }
