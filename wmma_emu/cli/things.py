# SPDX-License-Identifier: MIT
"""What a first word is that is no command: the name of something, which is then shown."""

from collections.abc import Callable, Sequence

from wmma_emu.errors import WmmaEmuError


def _is_finding(words: Sequence[str]) -> bool:
    from wmma_emu.ptx.findings import kind_of_slug, slug_of

    return kind_of_slug(slug_of(" ".join(words).casefold())) is not None


def _is_shown(words: Sequence[str]) -> bool:
    """Whether words, up to the first option, name instructions or a chip."""
    from wmma_emu.cli.names import named
    from wmma_emu.cli.query import chip_named

    plain = [x for i, x in enumerate(words) if not any(y.startswith("-") for y in words[: i + 1])]
    if chip_named(plain) is not None:
        return True
    try:
        return bool(named(plain).rows)
    except WmmaEmuError:
        return False


_COMMANDS: tuple[tuple[Callable[[Sequence[str]], bool], tuple[str, ...]], ...] = (
    (lambda words: words[0].casefold().endswith((".ptx", ".cu")), ("ptx", "explain")),
    (lambda words: len(words) > 1 and all(x.endswith(".npy") for x in words[:2]), ("gemm",)),
    (_is_shown, ("show",)),
    (_is_finding, ("finding",)),
)
"""What words can be, and the command that shows it."""


def command_for(argv: Sequence[str]) -> list[str] | None:
    """Put the command before words that shows what they name; None if they name nothing.

    Examples
    --------
    >>> command_for(["m16n8k16"]), command_for(["kernel.cu"]), command_for(["shwo"])
    (['show', 'm16n8k16'], ['ptx', 'explain', 'kernel.cu'], None)
    """
    return next(([*command, *argv] for names, command in _COMMANDS if names(argv)), None)
