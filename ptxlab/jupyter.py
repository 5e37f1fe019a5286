"""`%load_ext ptxlab`: cells of CUDA C++ and PTX, a kernel beside its PTX and SASS, completion of names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .errors import PtxlabError, listing, quoted
from .isa.aliases import instruction_names
from .numerics.scalar import opcodes
from .simulation import simulating
from .simulator.cuda_source import compile_cuda
from .simulator.debug import DebugSession
from .simulator.instructions.builders import BUILDERS
from .simulator.kernel import Kernel, build_kernel
from .simulator.ptx.linker import read_modules
from .simulator.ptx.syntax import kernel_names, plain_name
from .views.highlight import cell_script
from .views.kernel_listings import KernelListings, listings

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension"]

_FILE = "cell"  # the file name in the compiler's messages
_MAX_LINE = 10_000  # characters of a magic's line; IPython takes quadratic time to expand variables in it
_NO_FRAME = 1 << 30  # a depth of the stack at which no function has variables of its own
_MAX_NAMES = 100  # offered by completion; if more match, only their next part is
_NAME = re.compile(r"(?:(?P<variable>[A-Za-z_]\w*)=(?!=))?(?P<kernel>.+)", re.DOTALL)
_QUOTED = re.compile(r"""["']\s*([a-z][\w.:]*)$""")
_STATEMENT = re.compile(r"(?:^|[\s;{}])([a-z][\w.:]*)$")  # in a cell of PTX


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add %%cuda, %%ptx, %ptx, %%ptxdebug and completion to IPython; ``%load_ext ptxlab`` calls it."""
    from IPython.core.completer import context_matcher
    from IPython.core.magic import no_var_expand

    def cuda(line: str, cell: str) -> None:
        _define(shell, "cuda", _expanded(shell, "%%cuda", line), cell)

    def ptx(line: str, cell: str | None = None) -> KernelListings | None:
        if cell is None:
            return _listings(shell, _expanded(shell, "%ptx", line))
        _define(shell, "ptx", _expanded(shell, "%%ptx", line), cell)
        return None

    def ptxdebug(line: str, cell: str) -> DebugSession:
        return _debug(shell, line.strip(), cell)

    cuda.__doc__, ptx.__doc__, ptxdebug.__doc__ = _CUDA_HELP, _PTX_HELP, _DEBUG_HELP
    shell.register_magic_function(no_var_expand(cuda), "cell", "cuda")
    shell.register_magic_function(no_var_expand(ptx), "line_cell", "ptx")
    shell.register_magic_function(no_var_expand(ptxdebug), "cell", "ptxdebug")
    matchers = shell.Completer.custom_matchers
    if complete_names not in matchers:
        matchers.append(context_matcher(identifier="ptxlab.instruction_names")(complete_names))
    shell.display_pub.publish({"text/html": cell_script()})  # highlights cells, even before they run


_CUDA_HELP = """A cell of CUDA C++; each __global__ function becomes a variable, as ptxlab.kernel makes it.

    %%cuda [--target sm_90a] [--name [variable=]kernel ...] [options of NVRTC, such as -DTILE=64]

A template becomes a kernel when it is named with its arguments: --name "gemm<64, 64>". Needs no GPU."""
_PTX_HELP = """%%ptx: a cell of PTX; each .entry becomes a variable, as ptxlab.kernel makes it.

    %%ptx [--target sm_90a] [--name [variable=]kernel ...]

%ptx name: the PTX and the machine code (SASS) of a kernel beside its source. Needs no GPU."""

_DEBUG_HELP = """Run a cell, then step through a launch in it: the first, or that with the number, from 0 on.

    %%ptxdebug [number]

Launches are those of k.simulate and, as in ptxlab.simulating(), of Triton, Numba and others. IPython has a
%%debug of its own, which runs a cell under pdb; what a cell launches is known only after it has run."""


def _debug(shell: InteractiveShell, line: str, cell: str) -> DebugSession:
    if not re.fullmatch(r"-?\d{0,6}", line):
        raise PtxlabError(f"%%ptxdebug: found {quoted(line)}; it takes the number of a launch, from 0 on")
    with simulating(debug=True) as session:
        shell.run_cell(cell)
    return session.debug(int(line or 0))


# -- cells ---------------------------------------------------------------------------------------------------


def _define(shell: InteractiveShell, magic: str, line: str, cell: str) -> None:
    """Define the kernels of a cell as variables of the notebook, and list them."""
    options = _options(magic, line)
    # the first line stands for the magic, so that messages and listings number lines as the cell does
    source = f"// %%{magic} {line}".rstrip("\\ ") + f"\n{cell}"
    if magic == "ptx" and not re.search(r"^[ \t]*\.version\s", cell, re.MULTILINE):
        raise PtxlabError("%%ptx: found no .version; PTX begins with .version 8.0, .target sm_90a")
    names = options.name or _kernels(magic, source, options.target, options.flags)
    kernels: dict[str, Kernel] = {}
    for name in names:
        parts = _NAME.fullmatch(name.strip())
        if parts is None:
            raise PtxlabError(f"%%{magic}: --name {quoted(name)} names no kernel")
        kernel = build_kernel(source, parts["kernel"], options.target, options.flags, file=_FILE)
        variable = parts["variable"] or kernel.title.split("<")[0].split("::")[-1]
        if not variable.isidentifier() or variable in kernels:
            reason = "two kernels have that name" if variable in kernels else "Python has no such names"
            raise PtxlabError(
                f"%%{magic}: {kernel.title} cannot become the variable {quoted(variable)}, as {reason}; "
                f"choose another with --name 'variable={parts['kernel']}'"
            )
        kernels[variable] = kernel
    shell.push(kernels)
    text = "\n".join(
        repr(kernel)[1:-1] if kernel.title == variable else f"{variable}: {repr(kernel)[1:-1]}"
        for variable, kernel in kernels.items()
    )
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    shell.display_pub.publish({"text/plain": text, "text/html": f"{cell_script()}<pre>{escaped}</pre>"})


def _kernels(magic: str, source: str, target: str, flags: list[str]) -> list[str]:
    """The C++ names of all kernels of a source."""
    if magic == "cuda":
        names = kernel_names(compile_cuda(source, target, flags, file=_FILE).ptx)
    else:
        names = [plain_name(entry) for entry in read_modules((source,)).entries]
    if not names:
        what = "an .entry" if magic == "ptx" else "a __global__ function"
        template = " and a template is named with its arguments, as in --name 'gemm<64, 64>'"
        raise PtxlabError(
            f"%%{magic}: there is no kernel in the cell; a kernel is {what}"
            + ("," + template if magic == "cuda" and "template" in source else "")
        )
    return names


def _expanded(shell: InteractiveShell, magic: str, line: str) -> str:
    """The line of a magic with the values of the notebook's variables, as in -DTILE={tile}."""
    if len(line) > _MAX_LINE:
        raise PtxlabError(
            f"{magic}: its line has {len(line):,} characters, and may have {_MAX_LINE:,}; "
            "macros can stand in the cell"
        )
    return str(shell.var_expand(line, _NO_FRAME))


@dataclass
class _Options:
    """The options of a cell's first line, and those to pass to NVRTC."""

    target: str = "sm_90a"
    name: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


def _options(magic: str, line: str) -> _Options:
    try:
        words = iter(shlex.split(line))
    except ValueError as error:
        raise PtxlabError(f"%%{magic} {quoted(line)}: {str(error).lower()}") from None
    options, unexpected = _Options(), []
    for word in words:
        name, equals, value = word.partition("=")
        if name in ("--target", "--name"):
            if not equals:
                value = next(words, "--")
                if value.startswith("-"):
                    raise PtxlabError(f"%%{magic}: argument {name}: expected one argument")
            if name == "--target":
                options.target = value
            else:
                options.name.append(value)
        elif magic == "cuda" and word.startswith("-"):
            options.flags.append(word)
        else:
            unexpected.append(word)
    if unexpected:
        others = " and options of NVRTC, such as -DTILE=64" if magic == "cuda" else ""
        raise PtxlabError(
            f"%%{magic}: found {quoted(' '.join(unexpected))}; it takes --target, --name{others}"
        )
    return options


# -- a kernel beside its PTX and SASS ------------------------------------------------------------------------


def _listings(shell: InteractiveShell, line: str) -> KernelListings:
    name = line.strip()
    if not name:
        raise PtxlabError("%ptx: name a kernel, as in %ptx add")
    try:
        kernel: Any = shell.ev(name)
        kernel = getattr(kernel, "kernel", kernel)  # a Triton kernel wraps one
    except Exception:
        kernel = None
    if not issubclass(type(kernel), Kernel):  # isinstance would consult the object, which may be a proxy
        names = [
            variable
            for variable, value in shell.user_ns.items()
            if issubclass(type(value), Kernel) and not variable.startswith("_")
        ]
        there = f"there are {listing(names)}" if names else "%%cuda and ptxlab.kernel make kernels"
        raise PtxlabError(f"%ptx: {quoted(name)} is no kernel; {there}")
    return listings(kernel)


# -- completion ----------------------------------------------------------------------------------------------


def complete_names(context: CompletionContext) -> SimpleMatcherResult:
    """Complete the name of an instruction after a quote, or in a cell of PTX."""
    from IPython.core.completer import SimpleCompletion

    cell = context.full_text.lstrip()
    pattern = _STATEMENT if cell.startswith("%%ptx") else _QUOTED
    written = pattern.search(context.line_with_cursor[: context.cursor_position])
    if written is None:
        return {"completions": []}
    of_kernel = cell.startswith(("%%ptx", "%%cuda"))  # e.g. in an asm statement
    names = completions(written[1], _statement_names() if of_kernel else instruction_names())
    return {
        "completions": [SimpleCompletion(name, type="instruction") for name in names],
        "matched_fragment": written[1],
        "suppress": bool(names) and "." in written[1],  # file names, attributes
    }


@lru_cache(maxsize=1)
def _statement_names() -> tuple[str, ...]:
    """The names of all supported PTX instructions; those without a list of full names by their beginnings.

    >>> {"mbarrier.try_wait", "shf.l.wrap.b32"} <= set(_statement_names())
    True
    """
    whole = dict.fromkeys((*instruction_names(), *opcodes()))
    families = {name.partition(".")[0] for name in instruction_names()}
    beginnings = (parts for parts in BUILDERS if len(parts) > 1 or parts[0] not in families)
    return tuple(whole | dict.fromkeys(".".join(parts) for parts in beginnings))


def completions(written: str, words: Iterable[str]) -> list[str]:
    """Completions of the name of an instruction: whole names, or the next part if too many match.

    >>> completions("wgm", instruction_names())
    ['wgmma.']
    >>> completions("movmatrix.sync.aligned.m8", instruction_names())
    ['movmatrix.sync.aligned.m8n8.trans.b16']
    """
    names = [name for name in words if name.startswith(written)]
    if len(names) <= _MAX_NAMES:
        return names
    ends = [name.find(".", len(written)) + 1 or len(name) for name in names]
    return list(dict.fromkeys(name[:end] for name, end in zip(names, ends, strict=True)))
