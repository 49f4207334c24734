# SPDX-License-Identifier: MIT
"""Make launch bundles of public kernels from tables of cases, and the page of recorded results.

    python -m tools.public_kernels make --tables TABLES --checkouts DIR --out BUNDLES
    python -m tools.public_kernels findings --bundles BUNDLES --results FILE --verdicts FILE --out docs/evidence/...
    python -m tools.public_kernels page --bundles BUNDLES --recorded OUT --out docs/evidence/public-kernels-DATE.md

``TABLES`` is a folder of modules, ``*.py``, each with ``CASES``, a tuple of
`tools.public_kernels.case.PublicKernel`. They define how public sources are compiled, and are kept
with the checkouts: this repository holds neither.
"""

import argparse
import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

from tools.public_kernels.case import PublicKernel
from tools.public_kernels.findings_page import write_findings_page
from tools.public_kernels.page import TITLE, write_page

_SEED = 20261123


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    make = actions.add_parser("make", help="compile, draw arguments, write bundles")
    make.add_argument("--tables", type=Path, required=True, help="a folder of modules with CASES")
    make.add_argument("--checkouts", type=Path, required=True, help="the folder that holds the repositories")
    make.add_argument("--out", type=Path, required=True)
    make.add_argument("--only", default="", help="cases whose name holds this")
    page = actions.add_parser("page", help="write the table of evidence")
    page.add_argument("--bundles", type=Path, required=True)
    page.add_argument("--recorded", type=Path, required=True, help="what tools.launch_bundles record wrote")
    page.add_argument("--out", type=Path, required=True)
    page.add_argument("--notes", type=Path, help="JSON: the name of a case, and why it differs")
    page.add_argument("--gpu", default="not said", help="what the recordings were made on")
    page.add_argument("--title", default=TITLE, help="of the page (default: %(default)s)")
    found = actions.add_parser("findings", help="launch with every check and fill, and write the table of findings")
    found.add_argument("--bundles", type=Path, required=True)
    found.add_argument("--results", type=Path, required=True, help="JSON lines, a bundle each; existing lines are kept")
    found.add_argument("--verdicts", type=Path, required=True, help="JSON: a bundle, a kind, and its assessment")
    found.add_argument("--out", type=Path, required=True)
    found.add_argument("--seconds", type=float, default=120, help="for one launch (default: %(default)s)")
    found.add_argument("--emulator", default="not said", help="the revision that made the results, and when")
    given = parser.parse_args(argv)
    if given.action == "findings":
        where = given.bundles, given.results, given.verdicts, given.out
        return write_findings_page(*where, given.seconds, given.emulator)
    if given.action == "page":
        return write_page(given.bundles, given.recorded, given.out, given.notes, given.gpu, given.title)
    return max([_make(x, given.checkouts, given.out) for x in _cases(given.tables) if given.only in x.name], default=1)


def _cases(tables: Path) -> list[PublicKernel]:
    found: list[PublicKernel] = []
    sys.path.insert(0, str(tables))
    for path in sorted(tables.glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            continue
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        found += getattr(module, "CASES", ())
    return found


def _make(case: PublicKernel, checkouts: Path, out: Path) -> int:
    """Write one bundle; a case that cannot be built is said and passed over."""
    try:
        text, kernel = case.build(checkouts)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"{case.name}: not built: {error}", flush=True)
        return 1
    drawn = case.launch(np.random.default_rng(_SEED))
    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.ptx").write_text(text, encoding="utf-8")
    with (folder / "arrays.npz").open("wb") as file:
        np.savez_compressed(file, **drawn.arrays)  # type: ignore[arg-type]
    source = {"repository": case.repository, "revision": case.revision, "file": case.file, "licence": case.licence}
    launch = {
        "kernel": kernel, "grid": _three(drawn.grid), "block": _three(drawn.block), "shared": drawn.shared,
        "arch": case.chip, "arguments": drawn.arguments,
        "source": source
        | {"target": case.arch, "flags": case.flags, "sha256": hashlib.sha256(text.encode()).hexdigest()},
    }  # fmt: skip
    (folder / "launch.json").write_text(json.dumps(launch, indent=1) + "\n")
    print(f"{case.name}: {kernel}", flush=True)
    return 0


def _three(numbers: tuple[int, ...]) -> list[int]:
    return [*numbers, 1, 1][:3]


if __name__ == "__main__":
    sys.exit(main())
