"""The command `judge`: a verdict on a kernel, by a task."""

from __future__ import annotations

import sys
from typing import Annotated

from ..judging import judge as verdict_on
from . import output
from .commands import Json
from .output import Style, as_json, one_line


def judge(
    style: Style,
    candidate: Annotated[str, "a file of CUDA C++, PTX or Python"],
    *,
    task: Annotated[str, "the folder of the task: task.toml and reference.py", "FOLDER"],
    json: Json = False,
    public: Annotated[bool, "leave out the task's hidden sizes"] = False,
    seconds: Annotated[int, "time for all launches (default: 60)"] = 60,
    progress: Annotated[bool, "say on standard error which launches were judged"] = False,
) -> int:
    """Exit status 0 where the kernel is clean, 1 otherwise. What is printed names no hidden size.

    examples:
      ptxlab judge saxpy.cu --task saxpy
      ptxlab judge submission.py --task softmax --json > verdict.json
    """

    def say(done: int, total: int, words: str) -> None:
        if sys.stderr.isatty():
            end = "\n" if done == total else ""
            print(f"\r{done} of {total} launches  ", end=end, file=sys.stderr, flush=True)
        elif progress:
            output.error(f"judged {done} of {total} launches{f': {words}' if words else ''}")

    verdict = verdict_on(candidate, task=task, hidden=not public, seconds=seconds, progress=say).public()
    if json:
        output.write(as_json(verdict.json(hidden=False)))
    else:
        heading, *lines = repr(verdict).splitlines()
        output.write("\n".join([style.bold(one_line(heading)), *lines]))
    return 0 if verdict else 1
