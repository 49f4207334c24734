# SPDX-License-Identifier: MIT
"""The page of public kernels: the results of a GPU and of the emulator for each bundle."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tools.bundle_launcher import bits_of, bundles_in, modules_of, name_of, read_bundle
from tools.launch_bundles import _emulated
from wmma_emu.errors import WmmaEmuError

__all__ = ["TITLE", "write_page"]

TITLE = "Kernels of public repositories"

_HEAD = """# {title}

The kernels were not written by this project. Each was compiled by `nvcc` or by its own language, and launched on a GPU
and on the emulator with the same arguments (`tools/public_kernels`). All arrays are compared, bit for bit. No source is
part of this repository; the table names the revision.

GPU: {gpu}, driver {driver}. {kernels} kernels of {repositories} repositories, {all} launches: {equal} are equal in
every array, and changed at least one.

| repository | revision | kernel's file | case | chip of the PTX | flags | arrays changed | result | findings | note |
|---|---|---|---|---|---|---|---|---|---|
"""


def write_page(
    bundles: Path, recorded: Path, out: Path, notes: Path | None, gpu: str = "not said", title: str = TITLE
) -> int:
    """Write the page, and print the rows that are not equal."""
    why = json.loads(notes.read_text()) if notes else {}
    rows, equal, kernels = [], 0, set()
    for bundle in bundles_in(bundles):
        launch = json.loads((bundle / "launch.json").read_text())
        name = name_of(bundles, bundle)
        changed, result, findings = _judged(bundle, recorded / name)
        equal += result.startswith("equal")
        if not result.startswith("equal"):
            print(f"{name}: {result}", flush=True)
        source = launch["source"]
        kernels.add((source["repository"], source["file"], launch["kernel"]))
        target, flags = source.get("target", launch["arch"]), source.get("flags", "") or "none"
        rows.append([source["repository"], f"`{source['revision'][:10]}`", f"`{source['file']}`", bundle.name,
                     target, flags, changed, result, findings, why.get(name, "")])  # fmt: skip
    driver = recorded / "driver.txt"
    said = driver.read_text().strip() if driver.exists() else "not said"
    repositories = len({x[0] for x in kernels})
    head = _HEAD.format(
        title=title, gpu=gpu, driver=said, equal=equal, all=len(rows), kernels=len(kernels), repositories=repositories
    )
    body = "\n".join("| " + " | ".join(str(x).replace("|", "\\|") for x in row) + " |" for row in rows)
    out.write_text(f"{head}{body}\n", encoding="utf-8")
    return 0


def _judged(bundle: Path, recorded: Path) -> tuple[int, str, str]:
    """Return the number of arrays that the GPU changed, whether the emulator's are equal, and its findings."""
    module = next(x for x in modules_of(bundle) if x.suffix == ".ptx")
    path = recorded.with_name(f"{recorded.name}--{module.name}.npz")
    status = path.with_suffix(".txt").read_text().strip() if path.with_suffix(".txt").exists() else "not recorded"
    before = read_bundle(bundle)[1]
    try:
        mine, _, findings = _emulated(bundle)
    except WmmaEmuError as error:
        return 0, f"refused: {str(error).splitlines()[0]}", "none"
    kinds = ", ".join(sorted({x.split(":")[0].split(",")[0][:60] for x in findings})) or "none"
    if not path.exists():
        return 0, f"the GPU: {status}", kinds
    with np.load(path, allow_pickle=False) as file:
        theirs = before | {x: file[x] for x in file.files}
    lines = list(_counted(mine, theirs))
    unsteady = "" if status == "recorded" else f" ({status})"
    changed = sum(bits_of(before[x]) != bits_of(theirs[x]) for x in theirs)
    return changed, ("; ".join(lines) or ("equal" if changed else "no array changed")) + unsteady, kinds


def _counted(mine: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    for name, one in mine.items():
        words = [x.reshape(-1).view(f"u{x.itemsize}") for x in (one, theirs[name])]
        if different := int(np.count_nonzero(words[0] != words[1])):
            yield f"`{name}`: {different} of {words[0].size} elements differ"
