# SPDX-License-Identifier: MIT
"""What a compiled program does not run on the emulated chip: ATen's functions, and where its graph breaks."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wmma_emu.languages.replacing import replaced
from wmma_emu.languages.session import Session

ATEN = "ATen fallback: {} runs on the CPU, not with the chip's bits"
BREAK = "graph break at {}: {}"


def noting_aten(call: Callable[..., Any], session: Session) -> Callable[..., Any]:
    """Wrap the call of a compiled graph: functions of ATen that compute something are noted."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Noting(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if computes(function):
                session.note(ATEN.format(function))
            return function(*args, **(kwargs or {}))

    def noted(self: Any, inputs: Any) -> Any:
        with Noting():
            return call(self, inputs)

    return noted


def computes(function: Any) -> bool:
    """Return whether a function of ATen does more than to allocate a tensor, or to make a view of one.

    Examples
    --------
    >>> from types import SimpleNamespace as Function
    >>> computes(Function(name=lambda: "aten::mm.out", is_view=False))
    True
    >>> computes(Function(name=lambda: "aten::view", is_view=True))
    False
    """
    name = function.name().partition("::")[2]
    return not (function.is_view or name.startswith(("empty", "new_empty", "detach", "lift")))


@contextmanager
def noting_breaks(session: Session) -> Iterator[None]:
    """Note where TorchDynamo breaks a graph, and why; between the graphs, Python runs the program."""
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase as Translator

    log = Translator.log_graph_break

    def noted(self: Any, code_options: Any, reason: str, exc: Any) -> Any:
        if not exc.logged:
            session.note(BREAK.format(place_of(self, exc), reason_of(reason, exc)))
        return log(self, code_options, reason, exc)

    with replaced(Translator, {"log_graph_break": noted}):
        yield


def place_of(translator: Any, error: Any) -> str:
    """Return the file and the line of the program at which TorchDynamo's translator stopped."""
    stack = getattr(error, "real_stack", None)
    if stack:
        return f"{os.path.basename(stack[-1].filename)}:{stack[-1].lineno}"
    return f"{os.path.basename(translator.f_code.co_filename)}:{translator.lineno}"


def reason_of(text: str, error: Any) -> str:
    """Return the kind of a graph break, or the first line of its reason."""
    return getattr(error, "gb_type", None) or next((x.strip() for x in text.splitlines() if x.strip()), "")
