# SPDX-License-Identifier: MIT
"""The page of evidence: how many launches agree with Nsight Compute, and why the others do not."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.profile_kernels.reasons import reason_for


class Compared(NamedTuple):
    """A metric of a launch: what Nsight Compute counts, and what the emulator does."""

    part: str
    launch: str
    kernel: str
    metric: str
    measured: int
    counted: int


PARTS = {
    "shared_loads": "`ld.shared` of 1 to 16 bytes", "shared_stores": "`st.shared` of 1 to 16 bytes",
    "matrix_moves": "`ldmatrix`, `stmatrix`", "shared_atomics": "`atom.shared`, `red.shared`",
    "global_loads": "`ld.global` of 1 to 16 bytes", "global_stores": "`st.global` of 1 to 16 bytes",
    "global_atomics": "`atom.global`, `red.global`", "copies": "`cp.async.ca`, `cp.async.cg`",
    "filled_copies": "`cp.async` that fills zeros", "local": "`ld.local`, `st.local`", "branches": "loops that diverge",
    "ladder": "transpositions, and the ladder of matrix products", "examples": "the kernels of `examples/ptx/`",
    "products": "`wgmma`", "bulk_copies": "`cp.async.bulk`, `cp.reduce.async.bulk`",
    "others": "kernels of SGEMM_CUDA and llm.c",
    "public": "kernels of cuda-samples, LeetCUDA, How_to_optimize_in_GPU and NVIDIA_SGEMM_PRACTICE",
}  # fmt: skip
"""The parts of the launches, and their descriptions."""

_HEAD = """# Counters of profiles compared with Nsight Compute, {date}

The counters of [profiles](../how-to/make-a-kernel-fast.md) of {kernels} kernels in {launches} launches, compared
with those of Nsight Compute ({ncu}) on an {gpu}. The kernels were compiled by ptxas 13.0 for sm_90a; Nsight Compute
ran the machine code, the emulator the PTX. `python -m tools.profile_kernels` builds the kernels, measures and compares.

A kernel with one access is launched at many patterns of addresses: every width, strides, pitches, permutations, lanes
that share addresses, lanes that do not take part, random addresses. Of {counters} counters of all launches that are
not 0 in either, {equal} are equal.

| launches | kernels | launches | counter of Nsight Compute | equal |
|---|---|---|---|---|
"""

_REST = """
## Which chips the rules were measured on

Every rule was measured on sm_90, and is applied to all chips; a profile for another chip has a line about it. For no
other chip was a counter compared. On these, only the machine code of atomic operations on shared memory was read: ptxas
13.0 makes the same loops for sm_75, sm_80, sm_89, sm_100 and sm_120 as for sm_90, and `ATOMS.POPC.INC` for none below
sm_80.

| rule | measured on | applied to |
|---|---|---|
| wavefronts and conflicts of `ld.shared`, `st.shared`, `ldmatrix`, `stmatrix` | sm_90 | all chips |
| sectors of global memory; requests and sectors of local memory | sm_90 | all chips |
| atomic operations on global memory; on shared memory, with their loops | sm_90 | all chips |
| `cp.async.ca` and `cp.async.cg`, with and without filled zeros | sm_90 | sm_80 and later |
| operands of `wgmma` in shared memory; bytes of bulk copies | sm_90 | sm_90 (bulk copies: and later) |
| branches, and threads that diverge | sm_90 | all chips |

## What differs

The reasons were inferred from the counters, and from the numbers of accesses in the PTX and in the machine code.

| launches | counters | launches that differ | why |
|---|---|---|---|
"""


def write_page(path: Path, rows: Sequence[Compared], machine: dict[str, Any]) -> None:
    """Write the page."""
    counted = [x for x in rows if x.measured or x.counted]
    gpu, driver = machine["gpu"].split(", ")
    head = _HEAD.format(
        date=machine["date"], kernels=len({(x.part, x.kernel) for x in rows}),
        launches=len({(x.part, x.launch) for x in rows}), ncu=machine["ncu"].split(" (")[0].lower(),
        gpu=f"{gpu}, driver {driver}", counters=len(counted), equal=sum(x.measured == x.counted for x in counted),
    )  # fmt: skip
    lines = [head.rstrip()]
    for part, description in PARTS.items():
        mine = [x for x in rows if x.part == part]
        for metric, same in _groups(mine, lambda x: x.metric).items():
            equal = sum(x.measured == x.counted for x in same)
            kernels = len({x.kernel for x in mine})
            names = " + ".join(f"`{x}`" for x in metric.split(" + "))
            lines.append(f"| {description} | {kernels} | {len(same)} | {names} | {equal} of {len(same)} |")
    lines.append(_REST.rstrip())
    wrong = [x for x in counted if x.measured != x.counted]
    for reason, same in _groups(wrong, lambda x: reason_for(x.launch, x.metric)).items():
        launches = sorted({x.launch.split(":")[0] for x in same})
        metrics = sorted({x.metric for x in same})
        shown = ", ".join(launches[:6]) + (f" and {len(launches) - 6} more" if len(launches) > 6 else "")
        lines.append(
            f"| {shown} | {len(metrics)} | {len({x.launch for x in same})} | {reason or 'not known'} |"
        )  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _groups(rows: Sequence[Compared], key: Callable[[Compared], str]) -> dict[str, list[Compared]]:
    """Group rows, without groups in which everything is 0."""
    found: dict[str, list[Compared]] = {}
    for x in rows:
        found.setdefault(key(x), []).append(x)
    return {name: mine for name, mine in found.items() if any(x.measured or x.counted for x in mine)}
