"""A class for an hour: students edit an Explorer, simulate, answer; growth of memory, what is lost, errors.

Each student is a kernel with a JupyterLab page's messages: edits and quizzes over the Explorer's comm, cells
that simulate and compile, checks that write progress. A student remembers what was edited, solved and
computed, and compares. Between two actions there is time to think: `--think` seconds in the mean.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from benchmarks.student import RESULTS, megabytes
from ptxlab._util.files import write_atomically

MNEMONICS = (
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8",
)
EXPLORE = "ex = ptxlab.explore({!r})\nex"
#: What the first cell of a student's notebook defines.
PREPARE = """
import json, numpy as np, ptxlab
from pathlib import Path
from ptxlab import lessons

SOURCE = '''
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, const half* b, float* d) {
    __shared__ half tile[512];
    for (int at = threadIdx.x; at < 512; at += 32) tile[at] = at < 256 ? a[at] : b[at - 256];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
    wmma::fill_fragment(z, SCALE);
    wmma::load_matrix_sync(x, tile, 16);
    wmma::load_matrix_sync(y, tile + 256, 16);
    wmma::mma_sync(z, x, y, z);
    wmma::store_matrix_sync(d, z, 16, wmma::mem_row_major);
}'''

def compile(scale):
    return ptxlab.kernel(SOURCE.replace("SCALE", f"{scale}.0f"))

def simulate(kernel, scale, seed):
    a, b = np.random.default_rng(seed).integers(-4, 5, (2, 16, 16)).astype(np.float16)
    d = np.zeros((16, 16), np.float32)
    result = kernel.simulate(4, 32, a, b, d, show=False)
    assert not result.hazards or {hazard.kind for hazard in result.hazards} == {"write-write race"}
    assert (d == a.astype(np.float32) @ b.astype(np.float32) + scale).all(), "the product is wrong"

kernel = compile(0)
"""


class Student(threading.Thread):
    """A kernel, and a thread that sends it what a page would."""

    def __init__(self, number: int, folder: Path, think: float, end: float) -> None:
        super().__init__()
        self.number, self.folder, self.think, self.end = number, folder, think, end
        self.choice = random.Random(number)
        self.done: Counter[str] = Counter()
        self.slowest: dict[str, float] = {}
        self.problem = ""
        self.process = 0
        self.comm, self.scale = "", 0
        self.edits: dict[tuple[int, int], int] = {}

    def run(self) -> None:
        environment = {**os.environ, "PTXLAB_PROGRESS": str(self.folder / "progress.json")}
        manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(self.folder / "kernel"))
        manager.start_kernel(cwd=str(self.folder), env=environment)
        client = self.client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=300)
            self.process = manager.provisioner.pid
            self.execute(PREPARE)
            self.open_explorer()
            while time.monotonic() < self.end:
                time.sleep(min(self.choice.expovariate(1 / self.think), 4 * self.think))
                actions = [self.edit] * 4 + [self.simulate] * 3 + [self.quiz, self.answer, self.look]
                rare = [self.open_explorer, self.compile]
                action = self.choice.choice(rare if self.choice.random() < 0.05 else actions)
                start = time.monotonic()
                action()
                name = action.__name__
                self.done[name] += 1
                self.slowest[name] = max(time.monotonic() - start, self.slowest.get(name, 0))
        except Exception as error:  # told at the end
            self.problem = f"student {self.number}, after {sum(self.done.values())} actions: {error!r}"
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)

    # -- what a page and a notebook send ------------------------------------------------------------------

    def ask(self, kind: str, content: dict[str, Any]) -> list[dict[str, Any]]:
        """What the kernel publishes until it has done what the message asks."""
        message = self.client.session.msg(kind, content)
        self.client.shell_channel.send(message)
        published = []
        while True:
            answer = self.client.get_iopub_msg(timeout=300)
            if answer["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if answer["msg_type"] == "error":
                raise RuntimeError(f"{answer['content']['ename']}: {answer['content']['evalue']}")
            if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
                return published
            published.append(answer)

    def execute(self, source: str) -> str:
        """A cell; what it prints."""
        content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}}
        content |= {"allow_stdin": False, "stop_on_error": True}
        published = self.ask("execute_request", content)
        while self.client.shell_channel.msg_ready():
            self.client.get_shell_msg(timeout=1)
        return "".join(message["content"]["text"] for message in published if message["msg_type"] == "stream")

    def send(self, **content: Any) -> dict[str, Any]:
        """A message of the Explorer's page; the state that comes back."""
        data = {"method": "custom", "content": content}
        state: dict[str, Any] = {}
        for answer in self.ask("comm_msg", {"comm_id": self.comm, "data": data}):
            if answer["msg_type"] == "comm_msg" and answer["content"]["comm_id"] == self.comm:
                state |= answer["content"]["data"].get("state", {})
        return state

    # -- what students do ---------------------------------------------------------------------------------

    def open_explorer(self) -> None:
        self.execute(EXPLORE.format(self.choice.choice(MNEMONICS)))
        self.comm = self.execute("print(ex.children[0].model_id)").strip()
        self.edits = {}

    def edit(self) -> None:
        row, column, value = (
            self.choice.randrange(16),
            self.choice.randrange(32),
            self.choice.randrange(-8, 8),
        )
        known = self.edits.get((row, column))
        state = self.send(type="set_cell", name="A", row=row, column=column, text=str(value))
        self.edits[row, column] = value
        if known not in (None, value) and not {"A", "lane_registers"} & set(state):
            raise RuntimeError(f"the page did not hear of A[{row}, {column}] = {value}: {sorted(state)}")

    def look(self) -> None:
        """Whether all edits are in A, and D is their product."""
        found = json.loads(self.execute("print(json.dumps(np.asarray(ex.A).astype(int).tolist()))"))
        lost = {place: value for place, value in self.edits.items() if found[place[0]][place[1]] != value}
        if lost:
            raise RuntimeError(f"edits are lost: {lost}")
        self.execute("A, B, C, D = (np.asarray(x).astype(int) for x in (ex.A, ex.B, ex.C, ex.D))\n"
                     "assert (A @ B + C == D).all(), 'D is not the product'")  # fmt: skip

    def quiz(self) -> None:
        for message in ("start_quiz", "answer_question", "skip_question", "next_question", "stop_quiz"):
            state = self.send(type=message, **({"text": "(4, 29)"} if message == "answer_question" else {}))
            if message == "start_quiz" and "quiz" not in state:
                raise RuntimeError(f"no quiz came: {sorted(state)}")

    def answer(self) -> None:
        """A wrong answer, then the right one; progress is on the disk."""
        self.execute("lessons.check('01.1', (4, 21))\nlessons.check('01.1', (4, 29))")
        progress = (self.folder / "progress.json").read_text(encoding="utf-8")
        if "01.1" not in progress:
            raise RuntimeError(f"01.1 is not in progress.json: {progress[:200]}")

    def compile(self) -> None:
        self.scale = self.choice.randrange(100)
        self.execute(f"kernel = compile({self.scale})")

    def simulate(self) -> None:
        self.execute(f"simulate(kernel, {self.scale}, {self.choice.randrange(1000)})")


def watch(students: list[Student], every: float) -> list[list[float]]:
    """Megabytes of each kernel, again and again until all have ended."""
    samples = []
    start = time.monotonic()
    while any(student.is_alive() for student in students):
        time.sleep(every)
        try:
            sample = [megabytes(student.process, "VmRSS") for student in students if student.process]
        except (OSError, StopIteration):  # the first has ended
            continue
        if len(sample) == len(students):
            samples.append(sample)
            minutes = (time.monotonic() - start) / 60
            actions = sum(sum(student.done.values()) for student in students)
            line = f"mean {statistics.mean(sample):.1f} MB, largest {max(sample):.1f} MB, {actions} actions"
            print(f"{minutes:5.1f} min  {line}", flush=True)
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--think", type=float, default=15, help="seconds between two actions, in the mean")
    parser.add_argument("--record", action="store_true", help="keep the figures in benchmarks/results.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        end = time.monotonic() + 60 * args.minutes
        students = []
        for number in range(args.students):
            home = Path(folder) / f"s{number}"
            home.mkdir()
            students.append(Student(number, home, args.think, end))
            students[-1].start()
            time.sleep(1)
        samples = watch(students, min(60, 6 * args.minutes))
        for student in students:
            student.join()
    return report(students, samples, args)


def report(students: list[Student], samples: list[list[float]], args: argparse.Namespace) -> int:
    """Print what was done, and the memory of kernels after a sixth of the time and at the end.

    A kernel grows when something is used for the first time, e.g. the compiler; then it shall stay.
    """
    done = sum((student.done for student in students), Counter())
    for name, count in sorted(done.items()):
        slowest = max(student.slowest.get(name, 0) for student in students)
        print(f"{name:<14} {count:6}  slowest {slowest:5.1f} s")
    early, late = samples[len(samples) // 6], samples[-1]
    figures = {
        "cores": os.cpu_count(), "students": args.students, "minutes": args.minutes,
        "actions": sum(done.values()), "memory": round(statistics.mean(late), 1),
        "largest": round(max(late), 1), "largest early": round(max(early), 1),
    }  # fmt: skip
    print(f"a kernel has {figures['memory']:.0f} MB at the end")
    print(
        f"the largest: {max(early):.1f} MB after {args.minutes / 6:.0f} minutes, {max(late):.1f} MB at last"
    )
    problems = [student.problem for student in students if student.problem]
    print("\n".join(problems) or "no error, and nothing was lost")
    if args.record and not problems:
        recorded = json.loads(RESULTS.read_text(encoding="utf-8"))
        recorded["soak"] = figures
        write_atomically(RESULTS, json.dumps(recorded, indent=1) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
