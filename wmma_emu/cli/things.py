# SPDX-License-Identifier: MIT
"""Command lines without a command: words that name a file, an instruction, a chip or a kind of finding."""

from collections.abc import Callable, Sequence

from wmma_emu.errors import WmmaEmuError


def _is_finding(words: Sequence[str]) -> bool:
    from wmma_emu.ptx.findings import kind_of_slug, slug_of

    return kind_of_slug(slug_of(" ".join(words).casefold())) is not None


def _is_shown(words: Sequence[str]) -> bool:
    """Return whether the words before the first option name instructions or a chip."""
    from wmma_emu.cli.names import named
    from wmma_emu.cli.query import chip_named

    plain = [x for i, x in enumerate(words) if not any(y.startswith("-") for y in words[: i + 1])]
    if chip_named(plain) is not None:
        return True
    try:
        return bool(named(plain).entries)
    except WmmaEmuError:
        return False


_COMMANDS: tuple[tuple[Callable[[Sequence[str]], bool], tuple[str, ...]], ...] = (
    (lambda words: words[0].casefold().endswith((".ptx", ".cu")), ("ptx", "explain")),
    (lambda words: len(words) > 1 and all(x.endswith(".npy") for x in words[:2]), ("gemm",)),
    (_is_shown, ("show",)),
    (_is_finding, ("finding",)),
)
"""The tests of what words name, each with the command that shows it."""


def command_for(argv: Sequence[str]) -> list[str] | None:
    """Prepend the command that shows what the words name; return None if they name nothing.

    Examples
    --------
    >>> command_for(["m16n8k16"]), command_for(["kernel.cu"]), command_for(["shwo"])
    (['show', 'm16n8k16'], ['ptx', 'explain', 'kernel.cu'], None)
    """
    return next(([*command, *argv] for names, command in _COMMANDS if names(argv)), None)
