# SPDX-License-Identifier: MIT
"""The package's warnings on standard error: one line, however many there are, or all of them in full."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from wmma_emu.cli.terminal import say_on_stderr
from wmma_emu.errors import UnspecifiedBehaviourWarning, UnverifiedModelWarning

_OURS: dict[type[Warning], str] = {
    UnverifiedModelWarning: "results with no recording behind them",
    UnspecifiedBehaviourWarning: "results that the documentation leaves open",
}
"""The kinds of warnings, and what they are about where there are several of a kind."""


@contextmanager
def warnings_in_short(verbose: bool) -> Iterator[None]:
    """Show the package's warnings: each once and as it comes, or in one line at the end."""
    said: dict[str, type[Warning]] = {}

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        text = str(message)
        if not issubclass(category, tuple(_OURS)):
            before(message, category, filename, lineno, file, line)
        elif text not in said:
            said[text] = category
            if verbose:
                say_on_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        before = warnings.showwarning
        for kind in _OURS:
            warnings.simplefilter("always", kind)
        warnings.showwarning = show
        try:
            yield
        finally:
            if said and not verbose:
                say_on_stderr(f"warning: {_in_short(said)}")


def _in_short(said: dict[str, type[Warning]]) -> str:
    """Fold warnings into one line: one as it is, of several how many there are of each kind."""
    if len(said) == 1:
        return next(iter(said))
    counts = {kind: sum(issubclass(x, kind) for x in said.values()) for kind in _OURS}
    parts = [f"{count} {_OURS[kind]}" for kind, count in counts.items() if count]
    return f"{' and '.join(parts)}; --verbose says which, and why"
