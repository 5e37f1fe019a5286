"""python -m tools.hunt_wgmma [--mmas 100000] [--only TEXT] [--seed N] [--seconds 500] [--report FILE]"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab import Instruction, gpu
from ptxlab._util.files import write_atomically
from ptxlab.gpu import codegen as kernel
from ptxlab.instruction import mma_instructions
from ptxlab.numerics import Fused
from ptxlab.numerics.emulate import model_of

from .device import TARGET, Device
from .pools import TILES, Pool, prepared

CHECKED = 8  # MMAs of every category that `emulate` judges too
JUDGE = Path(__file__).with_name("judge.cu").read_text()


def types_of(ins: Instruction) -> tuple[Any, ...]:
    """What forms that differ in N alone share."""
    return ins.family, ins.k, ins.a_type, ins.b_type, ins.c_type, ins.d_type, ins.satfinite, ins.bit_op


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


class Batch:
    """So many MMAs of one form and one category, on the GPU: what goes in, and what the instruction gave."""

    def __init__(self, device: Device, ins: Instruction, pool: Pool, count: int, seed: int) -> None:
        self.device, self.ins, self.pool, self.count, self.seed = (
            device,
            ins,
            pool,
            np.int32(count),
            np.uint32(seed % (1 << 32)),
        )
        self.judging, self.columns = judge_source(ins), np.uint32(len(pool.b))
        coords = ins.c.coords().reshape(-1, 2)
        places = (coords[:, 0] * 512 + coords[:, 1]).astype(np.int32)
        self.c_pool = device.put(pool.c)
        b, c, self.d = (
            device.empty(count * size)
            for size in (
                ins.k * ins.n * pool.b.itemsize,
                len(coords) * pool.c.itemsize,
                len(coords) * ins.d.dtype.code_type().itemsize,
            )
        )
        self._gather("gather_b", device.put(pool.b), b, np.int32(ins.n), self.columns)
        self._gather("gather_c", self.c_pool, c, device.put(places), np.int32(len(coords)), self.columns)
        self.inputs = [self._tiles(pool.a), b, c, *([] if pool.e is None else [self._tiles(pool.e)])]
        device.launch(
            kernel.source(ins), kernel.NAME, min(count, 8192), 128, *self.inputs, self.d, self.count
        )

    def _gather(self, name: str, *arguments: int | np.generic) -> None:
        self.device.launch(self.judging, name, 8192, 256, *arguments, self.seed, self.count)

    def _tiles(self, pool: Any) -> int:
        to = self.device.empty(int(self.count) * pool[0].nbytes)
        self._gather("gather_a", self.device.put(pool), to, np.int32(pool[0].size), np.uint32(TILES))
        return to

    def differing(self, fault: int = 0) -> int:
        """Elements of D in which the judge disagrees; a `fault` makes it count that many bits too many."""
        rule = model_of(self.ins, "sm_90").rule
        fused = rule if isinstance(rule, Fused) else Fused(0, 0, 0)
        point = self.ins.a.dtype.fraction_bits + self.ins.b.dtype.fraction_bits
        where = self.ins.d.layout.scatter(0).astype(np.int32)  # type: ignore[union-attr]
        differences = self.device.put(np.array([0, ~np.uint64(0)], dtype=np.uint64))
        opened = (self.device.put(self.pool.a_open), self.device.put(self.pool.b_open), self.c_pool)
        sizes = (np.int32(self.ins.n), np.uint32(TILES), self.columns, self.seed, self.count)
        numbers = (
            np.int32(x)
            for x in (fused.fraction_bits + fault, fused.result_bits, fused.floor, point, self.ins.satfinite)
        )
        self.device.launch(
            self.judging,
            "judge",
            16384,
            256,
            *opened,
            self.d,
            self.device.put(where),
            differences,
            *sizes,
            *numbers,
        )
        return int(self.device.get(differences, np.empty(2, dtype=np.uint64))[0])

    def differing_from_emulate(self) -> int:
        """Registers of the first few MMAs in which `emulate` differs."""
        ins, few = self.ins, min(int(self.count), CHECKED)
        shapes = [
            (ins.a.lanes, ins.a.registers),
            (ins.k, ins.n),
            (ins.c.lanes, ins.c.registers),
            (ins.a.lanes, 1),
        ]
        word = np.dtype(np.uint32)
        arrays = [
            self.device.get(address, np.empty((few, *shape), dtype=dtype))
            for address, shape, dtype in zip(
                self.inputs, shapes, (word, self.pool.b.dtype, word, word), strict=False
            )
        ]
        d = self.device.get(self.d, np.empty((few, ins.d.lanes, ins.d.registers), dtype=word))
        return int((ins.emulate(*arrays, model="sm_90") != d).sum())


def judge_form(
    device: Device, ins: Instruction, pools: dict[str, Pool], mmas: int, seed: int
) -> dict[str, Any]:
    """All categories of one form: MMAs that ran, and elements of D in which the judge or `emulate` differ."""
    result = dict.fromkeys(("mmas", "elements", "differing", "emulated", "emulate_differs", "faults_seen"), 0)
    count = -(-mmas // len(pools))
    for number, pool in enumerate(pools.values()):
        try:
            batch = Batch(device, ins, pool, count, seed + 7919 * number)
            result["differing"] += batch.differing()
            result["emulate_differs"] += batch.differing_from_emulate()
            if ins.n == 8:  # a judge that never objects proves nothing
                result["faults_seen"] += batch.differing(fault=1) > 0
        finally:
            device.free()
        result["mmas"] += count
        result["elements"] += count * ins.m * ins.n
        result["emulated"] += min(count, CHECKED)
    return result


def compiled(names: list[Instruction]) -> int:
    for ins in names:
        gpu.compile(kernel.source(ins), TARGET)
    return len(names)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.hunt_wgmma", description=__doc__)
    parser.add_argument("--mmas", type=int, default=100_000, help="MMAs of every form")
    parser.add_argument("--only", default="", help="forms whose mnemonic contains this")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--seconds", type=float, default=1e9, help="stop before this many")
    parser.add_argument("--report", type=Path, default=None, help="where to write the counts as JSON")
    args = parser.parse_args()
    started = time.monotonic()
    every = sorted(
        (*mma_instructions("wgmma", TARGET), *mma_instructions("wgmma.sp", TARGET)), key=lambda ins: ins.n
    )
    forms = [ins for ins in every if args.only in ins.mnemonic]
    groups: dict[tuple[Any, ...], list[Instruction]] = {}
    for ins in forms:
        groups.setdefault(types_of(ins), []).append(ins)
    smallest = {types_of(ins): ins for ins in reversed(every)}
    report: dict[str, Any] = {"seed": args.seed, "forms": {}}
    workers = ProcessPoolExecutor(max(1, (os.cpu_count() or 2) - 2))
    pools = {key: workers.submit(prepared, smallest[key], args.seed) for key in groups}
    kernels: dict[tuple[Any, ...], list[Future[int]]] = {
        key: [workers.submit(compiled, group[first : first + 4]) for first in range(0, len(group), 4)]
        for key, group in groups.items()
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
                result = judge_form(device, ins, made, args.mmas, args.seed)
                result["seconds"] = round(time.monotonic() - begun, 3)
                blind = ins.n == 8 and not result["faults_seen"]
                wrong = bool(result["differing"] or result["emulate_differs"] or blind)
                bad += wrong
                report["forms"][ins.mnemonic] = result
                if wrong or ins is group[-1]:
                    verdict = "WRONG " if wrong else ""
                    seconds = time.monotonic() - started
                    print(f"{seconds:6.1f} s  {verdict}{ins.mnemonic}  {result}", flush=True)
    except TimeoutError:
        print(f"stopped after {args.seconds} s")
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        done = report["forms"].values()
        total = {
            name: sum(result[name] for result in done)
            for name in ("mmas", "elements", "differing", "emulated", "emulate_differs")
        }
        seconds = time.monotonic() - started
        print(f"{len(report['forms'])} of {len(forms)} forms, {bad} wrong; {total}; {seconds:.0f} s")
        if args.report is not None:
            write_atomically(args.report, json.dumps({**report, "total": total}, indent=1))
    return 1 if bad or len(report["forms"]) < len(forms) else 0


if __name__ == "__main__":
    sys.exit(main())
