"""Scripts that complete commands in a shell, made by shtab from the parser.

The script contains commands, options and their values. It asks ptxlab for the names of the instructions, once
in each session of the shell.
"""

from __future__ import annotations

import argparse
from typing import Annotated, Literal

from ..errors import PtxlabError
from ..isa.catalog import FAMILIES
from ..isa.dtypes import DTYPES
from ..isa.targets import GENERATIONS, TARGETS
from ..simulator.peaks import PEAKS
from .commands import COMMANDS, NAMES_COMMAND
from .output import Style
from .parser import build

#: Values of arguments by their names. The parser does not list them as choices: the commands themselves know
#: better what to say about a wrong one.
_VALUES = {
    "family": (*FAMILIES, "tcgen05"),
    "named_family": (*FAMILIES, "tcgen05"),
    "target": TARGETS,
    "type": tuple(DTYPES),
    "swizzle": ("0", "32", "64", "128"),
    "operand": ("A", "B", "C", "D", "E", "SFA", "SFB", "R", "T"),
    "chip": tuple(GENERATIONS),
    "card": tuple(name.replace(" ", "") for name in PEAKS),
    "model": tuple(GENERATIONS),
    "against": tuple(GENERATIONS),
}

#: What completes the name of an instruction, as each shell calls it.
_COMPLETER = {
    "bash": "_ptxlab_instructions",
    "zsh": "_ptxlab_instructions",
    "fish": "(_ptxlab_instructions)",
}

#: The function that `_COMPLETER` calls. In zsh and fish it asks for the names and keeps them. bash calls it
#: in a subshell, where nothing can be kept, so there `_BASH_WRAPPER` asks.
_COMPLETER_SOURCE = {
    "bash": """\
_ptxlab_instructions() {
    compgen -W "${_ptxlab_names-}" -- "$1"
}""",
    "zsh": f"""\
_ptxlab_instructions() {{
    (( $#_ptxlab_names )) || typeset -ga _ptxlab_names=("${{(@f)$(ptxlab {NAMES_COMMAND} 2>/dev/null)}}")
    compadd -a _ptxlab_names
}}""",
    "fish": f"""\
function _ptxlab_instructions
    set -q _ptxlab_names; or set -g _ptxlab_names (ptxlab {NAMES_COMMAND} 2>/dev/null)
    printf '%s\\n' $_ptxlab_names
end""",
}

#: Around shtab's function for bash. bash splits words at colons, which mnemonics contain
#: (`sp::ordered_metadata`): this joins them before shtab's function sees them, and removes what stands before
#: the last colon from the results. It also asks for the names of the instructions, when a command is followed
#: by a word that may be one.
_BASH_WRAPPER = f"""
_ptxlab() {{
    local line="${{COMP_LINE:0:COMP_POINT}}" head index COMP_CWORD
    local current="${{line##*[[:space:]]}}"
    local -a COMP_WORDS
    read -ra COMP_WORDS <<< "${{line%"$current"}}"
    COMP_CWORD=${{#COMP_WORDS[@]}}
    COMP_WORDS+=("$current")
    if [[ -z ${{_ptxlab_names-}} && $COMP_CWORD -gt 1 && $current != -* ]]; then
        _ptxlab_names="$("${{COMP_WORDS[0]}}" {NAMES_COMMAND} 2>/dev/null)"
    fi
    _shtab_ptxlab
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
        head="${{current%"${{current##*:}}"}}"
        for index in "${{!COMPREPLY[@]}}"; do COMPREPLY[index]="${{COMPREPLY[index]#"$head"}}"; done
    fi
}}
complete -o bashdefault -F _ptxlab ptxlab"""


def completion(
    style: Style,
    shell: Annotated[Literal["bash", "zsh", "fish"], "the shell that reads the script"],
) -> str:
    """The script for a shell, from a parser of its own, which is marked for shtab.

    examples:
      eval "$(ptxlab completion bash)"    in ~/.bashrc
      eval "$(ptxlab completion zsh)"     in ~/.zshrc, after compinit
      ptxlab completion fish > ~/.config/fish/completions/ptxlab.fish
    """
    parser = build(COMMANDS)
    try:
        import shtab
    except ImportError:
        raise PtxlabError('shell completion needs shtab: pip install "ptxlab[completion]"') from None
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command._actions:
            if action.dest == "instruction":
                vars(action)["complete"] = _COMPLETER  # the attribute that shtab reads
            elif action.dest in _VALUES:
                action.choices = _VALUES[action.dest]
    text = shtab.complete(parser, shell, preamble=_COMPLETER_SOURCE[shell])
    return text + _BASH_WRAPPER if shell == "bash" else text
