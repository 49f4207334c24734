# SPDX-License-Identifier: MIT
"""Record the counters of Nsight Compute for the launches of a bundle, part by part.

    python3 measure.py BUNDLE OUT [PART ...]

Writes ``PART.json`` for each part: the metrics' sums of each launch, in the order of the bundle; and ``machine.json``.
Parts that are recorded already are left out, so that an interrupted measurement can be continued.
"""

import csv
import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda-*/bin/ncu")


def find_ncu() -> str:
    """Return the path of Nsight Compute."""
    found = shutil.which("ncu")
    for pattern in _PLACES:
        found = found or next((str(x) for x in sorted(Path("/").glob(pattern[1:]))), None)
    if found is None:
        raise SystemExit("there is no ncu: install NVIDIA Nsight Compute")
    return found


def known_metrics(ncu: str) -> set[str]:
    """Return the names of all metrics of this GPU."""
    done = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, check=False, timeout=300)
    return {line.split()[0] for line in done.stdout.splitlines() if "__" in line}


def measure(ncu: str, folder: Path, part: str, metrics: list[str]) -> list[dict[str, float]]:
    """Run a part under Nsight Compute, and return the sums of the metrics of each launch."""
    command = [
        ncu, "--csv", "--page", "raw", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
        "--metrics", ",".join(f"{x}.sum" for x in metrics),
        sys.executable, str(Path(__file__).with_name("launch.py")), str(folder), part,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [x for x in done.stdout.splitlines() if x.startswith('"')]
    if not lines:
        raise SystemExit(f"{part}: ncu says\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    return [
        {name: float(row[f"{name}.sum"].replace(",", "")) for name in metrics if row.get(f"{name}.sum")}
        for row in rows
        if row["ID"]
    ]


def main(folder: Path, out: Path, parts: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    ncu = find_ncu()
    wanted = json.loads((folder / "metrics.json").read_text())
    known = known_metrics(ncu)
    metrics = [x for x in wanted if x in known]
    launches = json.loads((folder / "launches.json").read_text())
    ordered = list(dict.fromkeys(x["part"] for x in launches))
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[-2]
    machine = {"gpu": gpu, "ncu": version, "left out": [x for x in wanted if x not in known],
               "date": time.strftime("%Y-%m-%d")}  # fmt: skip
    (out / "machine.json").write_text(json.dumps(machine, indent=1))
    print(machine, flush=True)
    for part in parts or ordered:
        target = out / f"{part}.json"
        if target.exists():
            continue
        start = time.time()
        names = [x["name"] for x in launches if x["part"] == part]
        found = measure(ncu, folder, part, metrics)
        if len(found) != len(names):
            print(f"{part}: {len(found)} launches were measured, not {len(names)}", flush=True)
        rows = [[x.get(name) for name in metrics] for x in found]
        target.write_text(json.dumps({"metrics": metrics, "names": names, "rows": rows}))
        print(f"{part}: {len(found)} launches in {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
