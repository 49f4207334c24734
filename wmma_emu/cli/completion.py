# SPDX-License-Identifier: MIT
"""``wmma-emu completion``: shell scripts that call the program for each completion, so they are never outdated."""

import os
from argparse import Namespace
from pathlib import Path

from wmma_emu.cli.choices import TEXT
from wmma_emu.cli.command_table import SHELLS
from wmma_emu.cli.output import writing
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import check_choice

_BASH = r"""# Completion of wmma-emu for bash: eval "$(wmma-emu completion bash)"
_wmma_emu() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" __complete bash "$COMP_LINE" "$COMP_POINT" "${COMP_WORDS[COMP_CWORD]}" 2>/dev/null))
}
complete -o nospace -F _wmma_emu wmma-emu
"""
_ZSH = r"""#compdef wmma-emu
# Completion of wmma-emu for zsh: eval "$(wmma-emu completion zsh)" below compinit, or this script as a file _wmma-emu
# in a folder of $fpath.
_wmma_emu() {
    local -a all open closed
    local one
    all=("${(@f)$("${words[1]}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    for one in $all; do
        case "${${one//\\:/}%%:*}" in
            *[/.=,]) open+=("$one") ;;
            ?*) closed+=("$one") ;;
        esac
    done
    (( $#closed )) && _describe -t words word closed
    (( $#open )) && _describe -t words word open -S ''
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _wmma_emu "$@"
else
    compdef _wmma_emu wmma-emu
fi
"""
_FISH = r"""# Completion of wmma-emu for fish: wmma-emu completion fish > ~/.config/fish/completions/wmma-emu.fish
function __wmma_emu_complete
    set -l words (commandline -opc)
    $words[1] __complete fish $words[2..] (commandline -ct | string unescape) 2>/dev/null
end
complete -c wmma-emu -f -a '(__wmma_emu_complete)'
"""
_SCRIPTS = dict(zip(SHELLS, (_BASH, _ZSH, _FISH), strict=True))


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the script for a shell."""
    shell = check_choice("SHELL", arguments.shell or Path(os.environ.get("SHELL", "")).stem, SHELLS)
    with writing(arguments, TEXT, "_wmma-emu", terminal) as out:
        out.raw(_SCRIPTS[str(shell)])
