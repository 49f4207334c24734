# SPDX-License-Identifier: MIT
"""Bundles of what `record.sh` recorded on the machine with the GPU."""

import io
import json
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.launch_recorder.packing import TextOfKernels, launches_in, pack

__all__ = ["unpack"]


def unpack(recorded: Path, bundles: Path, sources: Mapping[str, tuple[Path, dict[str, str]]]) -> int:
    """Make bundles and recordings of the pieces of an archive, ``hopper.tar.xz.00`` and so on.

    Parameters
    ----------
    recorded, bundles : Path
        The folder with the pieces, and the folder that is made.
    sources : dict
        For the name of each program its PTX, and what bundles say about its origin.
    """
    pieces = sorted(recorded.glob("hopper.tar.xz.*"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(b"".join(x.read_bytes() for x in pieces)), mode="r:xz") as archive:
            archive.extractall(folder, filter="data")
        raw = Path(folder)
        for name, (ptx, source) in sources.items():
            found = launches_in(raw / name)
            if not found:
                continue
            texts = TextOfKernels([ptx.read_text()])
            for launch in found:
                text = texts[json.loads((launch / "launch.json").read_text())["kernel"]]
                recording = bundles / "recorded" / f"{name}__{launch.name}"
                pack(launch, bundles / "bundles" / name / launch.name, recording, text, "sm_90a", source)
            print(f"{name}: {len(found)} launches")
        for log in [raw / "machine.txt", *raw.glob("*/log.txt")]:
            name = log.parent.name if log.name == "log.txt" else "machine"
            (bundles / f"{name}.log").write_bytes(log.read_bytes())
    return 0
