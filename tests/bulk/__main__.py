"""python -m tests.bulk [--mmas 100000] [--only TEXT] [--seed N] [--seconds 500] [--report FILE]"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import gpu, inputs, kernel
from ptxlab.arithmetic import Fused
from ptxlab.catalog import catalog
from ptxlab.dtypes import DType
from ptxlab.emulator import chip_of
from ptxlab.instruction import Instruction

Array = NDArray[Any]
TARGET, TILES, CHECKED = "sm_90a", 512, 8  # tiles of A in a pool; MMAs of every category that `emulate` judges too
JUDGE = Path(__file__).with_name("judge.cu").read_text()


def types_of(ins: Instruction) -> tuple[Any, ...]:
    """What forms that differ in N alone share."""
    return ins.family, ins.k, ins.a_type, ins.b_type, ins.c_type, ins.d_type, ins.satfinite, ins.bit_op


def opened(codes: Array, kind: DType, absent: Array | None = None) -> Array:
    """One int an element, as judge.cu wants it; written apart from the emulator's decoding."""
    if not kind.is_float:
        return kind.decode(codes).astype(np.int32)
    bits = codes.astype(np.int64) >> kind.ignored_bits
    fraction, field = bits & (1 << kind.fraction_bits) - 1, bits >> kind.fraction_bits & (1 << kind.exponent_bits) - 1
    negative = bits >> kind.fraction_bits + kind.exponent_bits & 1
    significand, highest = np.where(field > 0, fraction | 1 << kind.fraction_bits, fraction), field == (1 << kind.exponent_bits) - 1
    what = np.where(significand == 0, 1, 0)
    if kind.name == "e4m3":
        what = np.where(highest & (fraction == 7), 3, what)
    else:
        what = np.where(highest, np.where(fraction == 0, 2, 3), what)
    if absent is not None:
        what = np.where(absent, 4, what)
    exponent = np.maximum(field, 1) - kind.bias
    signed = np.where(negative == 1, -np.maximum(significand, 1), np.maximum(significand, 1))
    return np.asarray((signed << 16 | (exponent + 2048) << 4 | what).astype(np.int32))


@dataclass
class Pool:
    """Inputs of one category: registers of A and E, columns of B and C, and A and B opened."""

    a: Array
    e: Array | None
    a_open: Array
    b: Array
    b_open: Array
    c: Array


def pool(ins: Instruction, category: str, seed: int) -> Pool:
    given = inputs.make(ins, category, TILES, seed=seed)
    codes, absent = ins.a.unpack_codes(given.a), None
    if ins.structure is not None and ins.e is not None and given.e is not None:
        nibbles = ins.e.unpack_codes(given.e)
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)
        dense, absent = np.zeros((*codes.shape[:-1], ins.k), dtype=codes.dtype), np.ones((*codes.shape[:-1], ins.k), dtype=np.bool_)
        np.put_along_axis(dense, positions, codes, axis=-1)
        np.put_along_axis(absent, positions, False, axis=-1)
        codes = dense
    b = np.ascontiguousarray(np.swapaxes(given.b, 1, 2)).reshape(-1, ins.k)
    c = np.ascontiguousarray(np.swapaxes(ins.c.unpack_codes(given.c), 1, 2)).reshape(-1, ins.m)
    return Pool(given.a, given.e, opened(codes, ins.a.dtype, absent), b, opened(b, ins.b.dtype), c)


def judge_source(ins: Instruction) -> str:
    c_kind = ins.c.dtype
    names = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}
    defined = {
        "M": ins.m,
        "K": ins.k,
        "CODE_B": names[ins.b.dtype.code_type().itemsize],
        "CODE_C": names[c_kind.code_type().itemsize],
        "CODE_D": names[ins.d.dtype.code_type().itemsize],
        "FLOATS": int(ins.a.dtype.is_float),
        "C_EXPONENT": c_kind.exponent_bits,
        "C_FRACTION": c_kind.fraction_bits,
    }
    return "".join(f"#define {name} {value}\n" for name, value in defined.items()) + JUDGE


class Device:
    """The few calls of the driver that keep arrays on the GPU."""

    def __init__(self) -> None:
        self.driver = gpu._bindings("driver")
        context, target, self.name = gpu._device()
        if target != TARGET:
            sys.exit(f"this runs on {TARGET}; found {self.name}, {target}")
        gpu._call(self.driver.cuCtxSetCurrent(context), "entering the context")
        self.held: list[Any] = []

    def empty(self, size: int) -> int:
        pointer = gpu._call(self.driver.cuMemAlloc(max(size, 4)), f"taking {size} bytes")
        self.held.append(pointer)
        return int(pointer)

    def put(self, array: Array) -> int:
        array = np.ascontiguousarray(array)
        pointer = self.empty(array.nbytes)
        gpu._call(self.driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes), "copying to the GPU")
        return pointer

    def get(self, pointer: int, array: Array) -> Array:
        gpu._call(self.driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes), "copying from the GPU")
        return array

    def free(self) -> None:
        for pointer in self.held:
            self.driver.cuMemFree(pointer)
        self.held.clear()

    def launch(self, source: str, name: str, grid: int, block: int, *arguments: int | np.generic) -> None:
        slots = [np.array([x], dtype=np.uint64 if isinstance(x, int) else x.dtype) for x in arguments]
        pointers = np.array([slot.ctypes.data for slot in slots], dtype=np.uint64)
        function = gpu._function(source, name, TARGET, False)
        gpu._call(self.driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, 0, pointers.ctypes.data, 0), f"launching {name}")
        gpu._call(self.driver.cuCtxSynchronize(), f"running {name}")


def judge_form(device: Device, ins: Instruction, pools: dict[str, Pool], mmas: int, seed: int) -> dict[str, Any]:
    """Every category of one form: how many MMAs ran, and how many elements of D differ from the judge or from `emulate`."""
    rule = chip_of(ins, "sm_90").rule
    fused = rule if isinstance(rule, Fused) else Fused(0, 0, 0)
    code, judging = kernel.source(ins), judge_source(ins)
    coords = ins.c.coords().reshape(-1, 2)
    elements, count = len(coords), -(-mmas // len(pools))
    places, where = (coords[:, 0] * 512 + coords[:, 1]).astype(np.int32), ins.d.layout.scatter(0).astype(np.int32)  # type: ignore[union-attr]
    point = ins.a.dtype.fraction_bits + ins.b.dtype.fraction_bits
    number, size_c, size_d = np.int32(count), ins.c.dtype.code_type().itemsize, ins.d.dtype.code_type().itemsize
    result: dict[str, Any] = {"mmas": 0, "elements": 0, "differing": 0, "emulated": 0, "emulate_differs": 0, "faults_seen": 0}
    for stream, (category, given) in enumerate(pools.items()):
        try:
            mixed, columns = np.uint32((seed + 7919 * stream) % (1 << 32)), np.uint32(len(given.b))
            words_a, b_size = given.a[0].size, ins.k * ins.n * given.b.itemsize
            a, b, c, d = (device.empty(count * size) for size in (words_a * 4, b_size, elements * size_c, elements * size_d))
            device.launch(judging, "gather_a", 8192, 256, device.put(given.a), a, np.int32(words_a), np.uint32(TILES), mixed, number)
            device.launch(judging, "gather_b", 8192, 256, device.put(given.b), b, np.int32(ins.n), columns, mixed, number)
            c_pool = device.put(given.c)
            device.launch(judging, "gather_c", 8192, 256, c_pool, c, device.put(places), np.int32(elements), columns, mixed, number)
            given_to = [a, b, c]
            if given.e is not None:
                e = device.empty(count * given.e[0].nbytes)
                device.launch(judging, "gather_a", 8192, 256, device.put(given.e), e, np.int32(given.e[0].size), np.uint32(TILES), mixed, number)
                given_to.append(e)
            device.launch(code, kernel.NAME, min(count, 8192), 128, *given_to, d, number)
            a_open, b_open, at = device.put(given.a_open), device.put(given.b_open), device.put(where)

            def differing(off: int) -> int:
                found = device.put(np.array([0, ~np.uint64(0)], dtype=np.uint64))
                numbers = [np.int32(x) for x in (fused.fraction_bits + off, fused.result_bits, fused.floor, point, ins.satfinite)]
                device.launch(
                    judging,
                    "judge",
                    16384,
                    256,
                    a_open,
                    b_open,
                    c_pool,
                    d,
                    at,
                    found,
                    np.int32(ins.n),
                    np.uint32(TILES),
                    columns,
                    mixed,
                    number,
                    *numbers,
                )
                return int(device.get(found, np.empty(2, dtype=np.uint64))[0])

            result["differing"] += differing(0)
            if ins.n == 8:  # a judge that never objects proves nothing
                result["faults_seen"] += differing(1) > 0
            few = min(count, CHECKED)
            shapes = [(ins.a.lanes, ins.a.registers), (ins.k, ins.n), (ins.c.lanes, ins.c.registers), (ins.a.lanes, 1)]
            kinds = [np.uint32, given.b.dtype.type, np.uint32, np.uint32]
            back = [device.get(x, np.empty((few, *shape), dtype=kind)) for x, shape, kind in zip(given_to, shapes, kinds, strict=False)]
            got = device.get(d, np.empty((few, ins.d.lanes, ins.d.registers), dtype=np.uint32))
            result["emulate_differs"] += int((ins.emulate(*back, model="sm_90") != got).sum())
            result["emulated"] += few
            result["mmas"] += count
            result["elements"] += count * elements
        finally:
            device.free()
    return result


def prepared(ins: Instruction, seed: int) -> dict[str, Pool]:
    return {category: pool(ins, category, seed) for category in (*inputs.categories(ins), *inputs.extra(ins))}


def compiled(names: list[Instruction]) -> int:
    for ins in names:
        gpu.compile(kernel.source(ins), TARGET)
    return len(names)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bulk", description=__doc__)
    parser.add_argument("--mmas", type=int, default=100_000, help="MMAs of every form")
    parser.add_argument("--only", default="", help="forms whose mnemonic contains this")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--seconds", type=float, default=1e9, help="stop before this many")
    parser.add_argument("--report", type=Path, default=None, help="where to write the counts as JSON")
    args = parser.parse_args()
    started = time.monotonic()
    forms = [ins for ins in catalog(target=TARGET) if ins.family in ("wgmma", "wgmma.sp") and args.only in ins.mnemonic]
    groups: dict[tuple[Any, ...], list[Instruction]] = {}
    for ins in sorted(forms, key=lambda ins: ins.n):  # type: ignore[union-attr]
        groups.setdefault(types_of(ins), []).append(ins)  # type: ignore[arg-type]
    smallest = {types_of(ins): ins for ins in sorted(catalog(target=TARGET), key=lambda i: -getattr(i, "n", 0)) if ins.family.startswith("wgmma")}  # type: ignore[arg-type]
    report: dict[str, Any] = {"seed": args.seed, "forms": {}}
    workers = ProcessPoolExecutor(max(1, (os.cpu_count() or 2) - 2))
    pools = {key: workers.submit(prepared, smallest[key], args.seed) for key in groups}  # type: ignore[arg-type]
    kernels: dict[tuple[Any, ...], list[Future[int]]] = {
        key: [workers.submit(compiled, group[first : first + 4]) for first in range(0, len(group), 4)] for key, group in groups.items()
    }
    device, bad = Device(), 0
    print(f"{len(forms)} forms, {args.mmas:,} MMAs each, seed {args.seed}, {device.name}", flush=True)
    try:
        for key, group in groups.items():
            made = pools.pop(key).result()
            for done in kernels[key]:
                done.result()
            for ins in group:
                if time.monotonic() - started > args.seconds:
                    raise TimeoutError
                begun = time.monotonic()
                found = judge_form(device, ins, made, args.mmas, args.seed)
                found["seconds"] = round(time.monotonic() - begun, 3)
                blind = ins.n == 8 and not found["faults_seen"]
                wrong = bool(found["differing"] or found["emulate_differs"] or blind)
                bad += wrong
                report["forms"][ins.mnemonic] = found
                if wrong or ins is group[-1]:
                    print(f"{time.monotonic() - started:6.1f} s  {'WRONG ' if wrong else ''}{ins.mnemonic}  {found}", flush=True)
    except TimeoutError:
        print(f"stopped after {args.seconds} s")
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        done = report["forms"].values()
        total = {name: sum(found[name] for found in done) for name in ("mmas", "elements", "differing", "emulated", "emulate_differs")}
        print(f"{len(report['forms'])} of {len(forms)} forms, {bad} wrong; {total}; {time.monotonic() - started:.0f} s")
        if args.report is not None:
            args.report.write_text(json.dumps({**report, "total": total}, indent=1))
    return 1 if bad or len(report["forms"]) < len(forms) else 0


if __name__ == "__main__":
    sys.exit(main())
