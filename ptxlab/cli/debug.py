"""The command `debug`: a prompt that steps through a launch, forwards and backwards."""

from __future__ import annotations

import cmd
import sys
from collections.abc import Callable
from typing import Annotated, Any

from ..errors import PtxlabError, quoted
from ..simulator.debug import DebugSession
from . import output
from .output import Style
from .simulate_commands import LaunchOptions, check_count


def debug(
    style: Style,
    file: Annotated[str | None, "CUDA C++ or PTX; with --dap also Python, or what the client names"] = None,
    *,
    launch: LaunchOptions,
    execute: Annotated[
        list[str] | None, "a command of the prompt, instead of a prompt; once per command", "COMMAND"
    ] = None,
    dap: Annotated[
        bool, "speak the Debug Adapter Protocol on standard input and output, for VS Code and others"
    ] = False,
    port: Annotated[
        int | None, "speak it on this port of the machine instead; 0 takes a free one", "N"
    ] = None,
) -> int:
    """Step through a launch, forwards and backwards, at a prompt: `help` there lists its commands.

    examples:
      ptxlab debug twice.cu --arg ones:f4:32
      ptxlab debug twice.cu --arg ones:f4:32 --execute run --execute "who 1 5"
    """
    if dap:
        from .dap import serve

        serve(file, launch, port)
        return 0
    if port is not None:
        raise PtxlabError("--port is for --dap")
    if file is None:
        raise PtxlabError("it takes a file of CUDA C++ or PTX, such as twice.cu")
    grid, block, cluster = launch.shape
    program, values = launch.kernel(file), launch.values()
    check_count(program, values)
    session = program.debug(grid, block, *values, shared=launch.shared, cluster=cluster)
    prompt = Prompt(session)
    prompt.show_place()
    if execute is None:
        prompt.cmdloop()
        return 0
    for line in execute:
        if prompt.onecmd(line):
            break
    return 1 if prompt.refused else 0


class Prompt(cmd.Cmd):
    """The commands of a debugger, on a session."""

    prompt = "(ptxlab) "

    def __init__(self, session: DebugSession) -> None:
        super().__init__()
        self.session = session
        self.refused = False  # whether a command could not be understood
        self.use_rawinput = sys.stdin is not None and sys.stdin.isatty()

    def show_place(self) -> None:
        """Say where the session is, with the lines of the source around it."""
        output.write(f"{self.session.where}; {self.session.stopped}")
        if self.session.line:
            output.write(self.session.listing())

    def _tried(self, action: Callable[[], object]) -> None:
        try:
            action()
        except PtxlabError as error:
            self.refused = True
            output.write(str(error))

    def _move(self, action: Callable[[], object]) -> None:
        def move() -> None:
            action()
            self.show_place()

        self._tried(move)

    def _words(self, line: str, *names: str) -> list[Any]:
        """The words of a command, whole numbers where they are."""
        words = line.split()
        if len(words) != len(names):
            raise PtxlabError(f"found {quoted(line)}; it takes {' '.join(names) or 'nothing'}")
        return [int(word) if word.lstrip("-").isdigit() else word for word in words]

    def do_step(self, line: str) -> None:
        """step [N] | step line | step barrier: go on by instructions, to the next line or barrier."""
        moves = {"line": lambda: self.session.step(line=True), "barrier": self.session.step_barrier}
        self._move(moves.get(line, lambda: self.session.step(*self._words(line, *["N"] * bool(line)))))

    def do_back(self, line: str) -> None:
        """back [N] | back line | back barrier: the same, backwards."""
        moves = {"line": lambda: self.session.back(line=True), "barrier": self.session.back_barrier}
        self._move(moves.get(line, lambda: self.session.back(*self._words(line, *["N"] * bool(line)))))

    def do_run(self, line: str) -> None:
        """run [LINE] | run back: to the next breakpoint, to a line, or back to the last breakpoint."""
        if line == "back":
            self._move(self.session.run_back)
        elif line:
            self._move(lambda: self.session.run_to(*self._words(line, "LINE")))
        else:
            self._move(self.session.run)

    def do_go(self, line: str) -> None:
        """go POSITION: go there, forwards or backwards."""
        self._move(lambda: self.session.go(*self._words(line, "POSITION")))

    def do_break(self, line: str) -> None:
        """break LINE [CONDITION]: stop before a line, if an expression holds, e.g. break 12 r4 > 100."""
        number, _, condition = line.partition(" ")
        self._tried(lambda: self.session.breakpoint(self._words(number, "LINE")[0], condition or None))

    def do_watch(self, line: str) -> None:
        """watch ARGUMENT INDEX: stop where an element changes, e.g. watch 1 5."""
        self._tried(lambda: self.session.watch(*self._words(line, "ARGUMENT", "INDEX")))

    def do_print(self, line: str) -> None:
        """print EXPRESSION: registers without their percent sign, arrays['1'], session ..., e.g. print r4."""
        self._tried(lambda: output.write(str(self.session.evaluate(line))))

    def do_who(self, line: str) -> None:
        """who ARGUMENT INDEX | who %REGISTER WARP LANE: who wrote it, and from what."""

        def ask() -> None:
            if line.startswith("%"):
                register, warp, lane = self._words(line, "REGISTER", "WARP", "LANE")
                output.write(str(self.session.who_wrote(register=register, warp=warp, lane=lane)))
            else:
                array, index = self._words(line, "ARGUMENT", "INDEX")
                output.write(str(self.session.who_wrote(array, index)))

        self._tried(ask)

    def do_where(self, line: str) -> None:
        """where: every warp, where it stands and what it waits for."""
        self.show_place()
        for warp in self.session.warps:
            place = (
                ""
                if warp.instruction is None
                else f" at {warp.instruction.where} ({warp.instruction.opcode})"
            )
            waits = f" for {warp.waits_for}" if warp.waits_for else ""
            output.write(
                f"  block {warp.block}, warp {warp.warp}, {len(warp.lanes)} lanes: {warp.state}{waits}{place}"
            )

    def do_quit(self, line: str) -> bool:
        """quit: leave the debugger."""
        return True

    do_EOF = do_quit

    def default(self, line: str) -> None:
        """An unknown command."""
        self.refused = True
        output.write(f"{quoted(line)}: there is no such command; help lists them")

    def emptyline(self) -> bool:
        """Nothing was typed: nothing happens."""
        return False
