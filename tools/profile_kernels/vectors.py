# SPDX-License-Identifier: MIT
"""The measured patterns as vectors: what Nsight Compute counts for one access, by form and pattern."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.profile_kernels import patterns
from tools.profile_kernels.patterns import Form
from tools.recordings import add_source, save_arrays

VERSION = 2

_SHARED = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
_SASS_CONFLICTS = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_"
_EXECUTED = "sm__sass_inst_executed_op_shared_"
_OF_L1 = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}"
_OF_COPY = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts"

_SECTORS_OF_OFFSETS = 4
"""The sectors of the load of the offsets, which precedes every access."""

_OF_VALUES = re.compile(r"shared_\w+_(u64|f64|f16)$")
"""Forms whose counters depend on more than addresses: atomic operations that change nothing do not make lanes wait."""

_LOOPS = "f32", "f16x2"
"""The types of atomic operations on shared memory that are loops of a load and a compare-and-swap."""


def metrics_of(form: Form) -> dict[str, tuple[str, ...]]:
    """Return the metrics of a form by the name of the counter: those that are added."""
    space, op, *_ = form.name.split("_")
    if _OF_VALUES.match(form.name):
        return {}
    if space in ("ldmatrix", "stmatrix"):
        machine = {"ldmatrix": "ldsm", "stmatrix": "stsm"}[space]
        return {"wavefronts": (_SHARED + machine,), "conflicts": (_SASS_CONFLICTS + machine,)}
    if space == "copy":
        return {
            "sectors": (_OF_COPY,), "wavefronts": (f"{_SHARED}ldgsts",), "conflicts": (f"{_SASS_CONFLICTS}ldgsts",)
        }  # fmt: skip
    if space == "global":
        return {"sectors": (_OF_L1.format("sectors", space, op),)}
    if space == "local":
        return {x: (_OF_L1.format(x, space, op),) for x in ("requests", "sectors")}
    if op not in ("atom", "red"):
        return {"wavefronts": (_SHARED + op,), "conflicts": (_CONFLICTS + op,)}
    ops = ("ld", "atom") if form.name.endswith(_LOOPS) else ("atom",)
    names = {"requests": _EXECUTED, "wavefronts": _SHARED, "conflicts": _CONFLICTS}
    return {name: tuple(metric + x for x in ops) for name, metric in names.items()}


def offsets_of(form: Form) -> NDArray[np.uint32]:
    """Return the patterns of a form: (patterns, 32)."""
    return np.array([x for _, x in patterns.patterns(form)])


def vectors(measured: Path) -> Iterator[tuple[str, NDArray[np.uint16]]]:
    """Yield form and counter, and the measured values of its patterns."""
    found: dict[str, dict[str, int]] = {}
    for file in sorted(measured.glob("*.json")):
        given = json.loads(file.read_text())
        for name, row in zip(given.get("names", ()), given.get("rows", ()), strict=True):
            found[name] = dict(zip(given["metrics"], row, strict=True))
    for form in patterns.forms():
        names = [f"{form.name}: {name}" for name, _ in patterns.patterns(form)]
        for counter, metrics in metrics_of(form).items():
            if not all(x in found for x in names):
                continue
            values = np.array([sum(found[x][y] for y in metrics) for x in names], np.uint16)
            is_load = metrics == (_OF_L1.format("sectors", "global", "ld"),)
            yield f"{form.name}|{counter}", values - _SECTORS_OF_OFFSETS * is_load


def write_vectors(measured: Path, out: Path) -> None:
    """Write the vectors, and where they come from."""
    arrays = dict(vectors(measured))
    machine = json.loads((measured / "machine.json").read_text())
    gpu, driver = machine["gpu"].split(", ")
    save_arrays(out, arrays, version=VERSION)
    add_source(
        out, gpu=gpu, driver=driver, ncu=machine["ncu"],
        generator=f"tools/profile_kernels, patterns version {VERSION}",
        contents="form|counter -> what Nsight Compute counts for one access of a warp, for each pattern of addresses",
    )  # fmt: skip
    print(f"{out}: {len(arrays)} counters of {sum(x.size for x in arrays.values())} patterns")
