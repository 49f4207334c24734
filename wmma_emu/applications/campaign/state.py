# SPDX-License-Identifier: MIT
"""The state file, with which a campaign survives an interruption."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wmma_emu.applications.campaign.files import replace_text
from wmma_emu.applications.campaign.tasks import DOT_PRODUCTS_OF_A_TASK, Task
from wmma_emu.applications.campaign.totals import Totals
from wmma_emu.errors import ArgumentValueError, UnsupportedInstructionError, shorten
from wmma_emu.generators import VERSION
from wmma_emu.version import __version__
from wmma_emu.warp import BoundInstruction

_SHOWN = {"families": "generators"}
"""The words of keys in messages; the files keep the keys of older versions."""

_KIND = "wmma_emu campaign"
_FORM = 3
"""The version of the file's form; another number belongs to another version of the package."""


def identity_of(
    instructions: Sequence[BoundInstruction],
    counts: Sequence[int],
    generators: Sequence[str] | None,
    seed: int,
    device: dict[str, Any],
) -> dict[str, Any]:
    """Return the identity of a campaign: counts of different identities must not be added.

    It covers seed, input generators, instructions and counts; the device; the version, and everything that decides the
    emulator's bits.
    """
    names = [
        f"{ins.mnemonic} ({', '.join(filter(None, (ins.model.lowering, ins.model.name)))})" for ins in instructions
    ]
    models = [str((ins.product.a, ins.product.k, ins.model.parameters)) for ins in instructions]
    return {
        "seed": seed,
        "families": "all" if generators is None else ", ".join(generators),
        "instructions": f"{len(names)}: {_digest(names)}",
        "counts": f"{sum(counts)}: {_digest(list(counts))}",
        "device": ", ".join(str(device.get(x, "")) for x in ("name", "arch", "driver", "toolkit")),
        "version": __version__,
        "version of families": VERSION,
        "form of the state": _FORM,
        "dot products of a task": DOT_PRODUCTS_OF_A_TASK,
        "arithmetic": _digest(models),
    }


def _digest(values: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def load_state(path: str | Path, identity: dict[str, Any], tasks: Sequence[Task], sizes: Sequence[int]) -> Totals:
    """Read the counts of a campaign; none if the file does not exist. ``sizes`` are the tasks' dot products.

    A file that is damaged, or another campaign's state, is rejected; the message names the difference.
    """
    path = Path(path)
    if not path.exists():
        return Totals(len(tasks))
    start_anew = "name another file, or remove it to restart"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        kind, found = data["kind"], dict(data["campaign"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArgumentValueError(
            f"{path} is damaged, or is not the state of a campaign ({shorten(error, str)}); {start_anew}"
        ) from None
    if kind != _KIND:
        raise ArgumentValueError(f"{path} is not the state of a campaign; {start_anew}")
    differing = [x for x in identity if found.get(x) != identity[x]]
    if differing:
        what = "; ".join(
            f"{_SHOWN.get(x, x)}: {shorten(found.get(x), str)} in the file, {shorten(identity[x], str)} in this call"
            for x in differing
        )
        raise UnsupportedInstructionError(f"{path} is the state of another campaign ({what}); {start_anew}")
    try:
        totals = Totals.from_dict(data["totals"])
        if totals.tasks != len(tasks) or totals.done >> len(tasks):
            raise ValueError("other tasks")
        _check_sums(totals, tasks, sizes)
    except Exception as error:  # any error that a damaged file causes
        raise ArgumentValueError(f"{path} is damaged ({shorten(error, str)}); {start_anew}") from None
    return totals


def _check_sums(totals: Totals, tasks: Sequence[Task], sizes: Sequence[int]) -> None:
    """Check that the counts are exactly those of the completed tasks, and consistent."""
    done: Counter[tuple[int, str]] = Counter()
    for task, size in zip(tasks, sizes, strict=True):
        if totals.done >> task.number & 1:
            done[task.instruction, task.generator] += size
    if dict(done) != {key: count.dot_products for key, count in totals.counts.items()}:
        raise ValueError("its counts are not those of its tasks")
    for count in totals.counts.values():
        parts = (
            (count.mismatches, count.dot_products), (count.unread, count.mismatches),
            (count.executed, count.dot_products), (count.executed_wrong, count.executed),
            (count.referenced, count.dot_products), (count.referenced_wrong, count.referenced),
        )  # fmt: skip
        if not all(0 <= part <= whole for part, whole in parts):
            raise ValueError("its counts are negative or too large")
    if not all(0 <= x < math.inf for x in (totals.elapsed, *totals.seconds.values())):
        raise ValueError("its seconds are not finite, or negative")


def save_state(path: str | Path, identity: dict[str, Any], totals: Totals) -> None:
    """Write the file so that an interrupt leaves either the old file or the new one, complete."""
    replace_text(path, json.dumps({"kind": _KIND, "campaign": identity, "totals": totals.to_dict()}))
