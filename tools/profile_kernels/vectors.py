# SPDX-License-Identifier: MIT
"""The measured patterns as vectors: what Nsight Compute counts for one access, by form and pattern."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.profile_kernels import patterns
from tools.profile_kernels.patterns import Form
from tools.recordings import add_source, save_arrays

VERSION = 1

_SHARED = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
_SASS_CONFLICTS = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}"
_OF_COPY = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts"

_SECTORS_OF_OFFSETS = 4
"""The sectors of the load of the offsets, which precedes every access."""

_WITHOUT_LOOPS = ("u32", "b32", "inc")
"""The types of atomic operations on shared memory that are one machine instruction; others are loops."""


def metrics_of(form: Form) -> dict[str, str]:
    """Return the metrics of a form by the name of the counter; none if ptxas makes a loop of it."""
    space, op, *_ = form.name.split("_")
    if space in ("ldmatrix", "stmatrix"):
        machine = {"ldmatrix": "ldsm", "stmatrix": "stsm"}[space]
        return {"wavefronts": _SHARED + machine, "conflicts": _SASS_CONFLICTS + machine}
    if space == "copy":
        return {"sectors": _OF_COPY, "wavefronts": f"{_SHARED}ldgsts", "conflicts": f"{_SASS_CONFLICTS}ldgsts"}
    if space in ("global", "local"):
        return {"sectors": _SECTORS.format(space, op)}
    if op in ("atom", "red"):
        native = form.name.endswith(_WITHOUT_LOOPS)
        return {"wavefronts": f"{_SHARED}atom", "conflicts": f"{_CONFLICTS}atom"} if native else {}
    return {"wavefronts": _SHARED + op, "conflicts": _CONFLICTS + op}


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
        for counter, metric in metrics_of(form).items():
            if not all(x in found for x in names):
                continue
            values = np.array([found[x][metric] for x in names], np.uint16)
            yield f"{form.name}|{counter}", values - _SECTORS_OF_OFFSETS * (metric == _SECTORS.format("global", "ld"))


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
