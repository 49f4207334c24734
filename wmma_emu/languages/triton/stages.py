# SPDX-License-Identifier: MIT
"""Triton's compiler stops at PTX: its hook for stages replaces ptxas, and separates these kernels in its cache."""

from collections.abc import MutableMapping
from typing import Any

_KEY = "wmma_emu: PTX instead of machine code"


def stop_at_ptx(before: Any) -> Any:
    """Return a hook for ``triton.knobs.runtime.add_stages_inspection_hook``; ``before`` is the earlier hook.

    Triton calls it without arguments for a key of its caches, and with the stages to change them.
    """

    def hook(
        backend: Any = None, stages: MutableMapping[str, Any] | None = None, options: Any = None,
        language: Any = None, capability: Any = None,
    ) -> tuple[str, str] | None:  # fmt: skip
        if stages is None:
            keys = () if before is None else before()
            return "".join((_KEY, *keys[:1])), "".join((_KEY, *keys[1:]))
        if before is not None:
            before(backend, stages, options, language, capability)
        stages["cubin"] = lambda text, metadata: text.encode()
        return None

    return hook
