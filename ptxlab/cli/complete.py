"""Shell completion. Commands and options stand in the script; instruction names are asked for once in a shell and then kept."""

from __future__ import annotations

import argparse
import re
from typing import Any

from ..isa.catalog import FAMILIES, catalog
from ..isa.dtypes import DTYPES
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.targets import TARGETS

__all__ = ["HIDDEN", "INSTALL", "SHELLS", "script", "words"]

SHELLS = ("bash", "zsh", "fish")
HIDDEN = "__complete"
INSTALL = """\
  eval "$(ptxlab completion bash)"    in ~/.bashrc
  eval "$(ptxlab completion zsh)"     in ~/.zshrc, after compinit
  ptxlab completion fish > ~/.config/fish/completions/ptxlab.fish"""

_OPERANDS = ("A", "B", "C", "D", "E", "SFA", "SFB", "R")


def words() -> str:
    """Every mnemonic, and the short names that say shape and type; one a line."""
    every = catalog()
    return "\n".join(
        [*dict.fromkeys(name for ins in every if (name := _short(ins))), *(ins.mnemonic for ins in every)]
    )


def _short(ins: Form) -> str | None:
    """``mma.m16n8k64.s4``; with the accumulator's type where A is a float: ``mma.m16n8k16.f32.f16``."""
    if not isinstance(ins, MmaForm) or ins.a_type != ins.b_type or ins.c_type != ins.d_type or ins.kind:
        return None
    parts = [
        ins.family,
        ins.shape,
        *([ins.d_type] if ins.d_type != "s32" else []),
        ins.a_type,
        *([ins.bit_op] if ins.bit_op else []),
    ]
    return ".".join(parts)


def _tables(parser: argparse.ArgumentParser) -> dict[str, dict[str, Any]]:
    """Options, their values and the positional arguments of every command, as the parser has them."""
    values = {
        "--family": FAMILIES,
        "--target": TARGETS,
        "--type": tuple(DTYPES),
        "--swizzle": ("0", "32", "64", "128"),
    }
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    found: dict[str, dict[str, Any]] = {}
    about = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    for name, sub in commands.choices.items():
        options = {
            option: action
            for action in sub._actions
            for option in action.option_strings
            if option.startswith("--")
        }
        takes = {
            option: tuple(action.choices or values.get(option, ()))
            for option, action in options.items()
            if action.nargs is None
        }
        found[name] = {
            "about": re.sub(r"[^\w ,.]", "", about[name]),
            "options": {
                option: re.sub(r"[^\w ,.*-]", "", action.help or "") for option, action in options.items()
            },
            "values": takes,
            "positional": [action.dest for action in sub._actions if not action.option_strings],
        }
    return found


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The completion script of that shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_tables(parser))


def _cases(tables: dict[str, dict[str, Any]], indent: str) -> str:
    """Lines of a shell's `case` that say what may follow: for bash and zsh."""
    lines = []
    for name, table in tables.items():
        lines.append(f"{indent}{name})")
        lines.append(f'{indent}    options="{" ".join(table["options"])}"')
        lines.append(f'{indent}    takes=" {" ".join(table["values"])} "')
        lines.append(f"{indent}    positional=({' '.join(table['positional'])}) ;;")
    return "\n".join(lines)


def _value_cases(tables: dict[str, dict[str, Any]], indent: str) -> str:
    known = {
        option: values for table in tables.values() for option, values in table["values"].items() if values
    }
    return "\n".join(f'{indent}{option}) words="{" ".join(values)}" ;;' for option, values in known.items())


_BASH = """\
# ptxlab completion for bash
_ptxlab() {
    local line="${COMP_LINE:0:COMP_POINT}" cur command word previous="" options takes words="" count=0 skip=""
    local -a typed positional
    cur="${line##*[[:space:]]}"
    read -ra typed <<< "${line%"$cur"}"
    command="${typed[1]-}"
    case "$command" in
@CASES@
    esac
    for word in "${typed[@]:2}"; do
        if [[ -n $skip ]]; then skip=""
        elif [[ $takes == *" $word "* ]]; then skip=1
        elif [[ $word != -* ]]; then count=$((count + 1)); fi
        previous="$word"
    done
    if [[ ${#typed[@]} -le 1 ]]; then
        words="@COMMANDS@"
    elif [[ -n $skip ]]; then
        case "$previous" in
@VALUES@
        esac
    elif [[ $cur == -* ]]; then
        words="$options"
    else
        case "${positional[count]-}" in
            instruction)
                [[ -n ${_ptxlab_names-} ]] || _ptxlab_names="$("${typed[0]}" @HIDDEN@ 2>/dev/null)"
                words="$_ptxlab_names" ;;
            operand) words="@OPERANDS@" ;;
            shell) words="@SHELLS@" ;;
        esac
    fi
    local IFS=$' \\t\\n'
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then  # bash takes a colon for the start of a word
        local head="${cur%"${cur##*:}"}" i
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]="${COMPREPLY[i]#"$head"}"; done
    fi
}
complete -F _ptxlab ptxlab"""

_ZSH = """\
#compdef ptxlab
# ptxlab completion for zsh
_ptxlab() {
    local options takes word previous="" skip="" count=1
    local -a positional words_
    case "$words[2]" in
@CASES@
    esac
    for word in "${(@)words[3,CURRENT-1]}"; do
        if [[ -n $skip ]]; then skip=""
        elif [[ $takes == *" $word "* ]]; then skip=1
        elif [[ $word != -* ]]; then count=$((count + 1)); fi
        previous="$word"
    done
    if (( CURRENT == 2 )); then
        words_=(@COMMANDS@)
    elif [[ -n $skip ]]; then
        case "$previous" in
@VALUES@
        esac
    elif [[ $PREFIX == -* ]]; then
        words_=(${=options})
    else
        case "$positional[count]" in
            instruction)
                (( $#_ptxlab_names )) || typeset -ga _ptxlab_names=("${(@f)$($words[1] @HIDDEN@ 2>/dev/null)}")
                words_=($_ptxlab_names) ;;
            operand) words_=(@OPERANDS@) ;;
            shell) words_=(@SHELLS@) ;;
        esac
    fi
    compadd -a words_
}
compdef _ptxlab ptxlab"""


def _filled(text: str, tables: dict[str, dict[str, Any]], values: str) -> str:
    parts = {
        "CASES": _cases(tables, " " * 8),
        "VALUES": values,
        "COMMANDS": " ".join(tables),
        "HIDDEN": HIDDEN,
    }
    parts |= {"OPERANDS": " ".join(_OPERANDS), "SHELLS": " ".join(SHELLS)}
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], text)


def _bash(tables: dict[str, dict[str, Any]]) -> str:
    return _filled(_BASH, tables, _value_cases(tables, " " * 12))


def _zsh(tables: dict[str, dict[str, Any]]) -> str:
    return _filled(_ZSH, tables, re.sub(r'words="(.*?)"', r"words_=(\1)", _value_cases(tables, " " * 12)))


def _fish(tables: dict[str, dict[str, Any]]) -> str:
    lines = [
        "# ptxlab completion for fish",
        "function __ptxlab_names",
        "    set -q __ptxlab_words; or set -g __ptxlab_words (ptxlab " + HIDDEN + " 2>/dev/null)",
        "    printf '%s\\n' $__ptxlab_words",
        "end",
        "function __ptxlab_at  # the number of words after the command that are no options",
        "    set -l typed (commandline -opc)",
        "    test (count (string match -v -- '-*' $typed[3..-1])) -eq $argv[1]",
        "end",
        "complete -c ptxlab -f",
    ]
    for name, table in tables.items():
        lines.append(f"complete -c ptxlab -n __fish_use_subcommand -a {name} -d '{table['about']}'")
        inside = f"__fish_seen_subcommand_from {name}"
        for option, about in table["options"].items():
            values = table["values"].get(option)
            more = "" if values is None else f" -x -a '{' '.join(values)}'" if values else " -x"
            lines.append(f"complete -c ptxlab -n '{inside}' -l {option[2:]}{more} -d '{about}'")
        for at, what in enumerate(table["positional"]):
            words = {
                "instruction": "(__ptxlab_names)",
                "operand": " ".join(_OPERANDS),
                "shell": " ".join(SHELLS),
            }.get(what)
            if words:
                lines.append(f"complete -c ptxlab -n '{inside}; and __ptxlab_at {at}' -a '{words}'")
    return "\n".join(lines)
