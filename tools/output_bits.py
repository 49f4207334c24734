# SPDX-License-Identifier: MIT
"""Digests of the bits that this package computes, so that no bit changes without the changelog saying so.

    python -m tools.output_bits            # which bits are not those of the last release; status 1 if one is not named
    python -m tools.output_bits --write    # when a release is made: pin the bits of this version

`tests/data/output_bits.txt` has a digest for each key: an instruction's formats on a chip, its layouts, a scalar
function, a quantiser, a preset of `gemm`, a kernel of PTX, a file of recordings. `CHANGELOG.md` names the keys whose
bits have changed since that release under "Changed output bits", an entry at a time: "Digests: `KEY`, `KEY`."; a `*` in
a key stands for anything. The section of the release has the digest of the file itself.
"""

import argparse
import hashlib
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from tools.output_cases import Computed, outputs
from wmma_emu.version import __version__

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests/data/output_bits.txt"
CHANGELOG = ROOT / "CHANGELOG.md"

_NAMED = re.compile(r"Digests:((?:,?\s+`[^`]+`)+)\.")
_PINNED = re.compile(r"`tests/data/output_bits\.txt`\s+\(SHA-256\s+`(\w+)`\)")


def digest_of(computed: Computed) -> str:
    """Return twelve digits of the SHA-256 of arrays: their bits, little-endian, and their shapes."""
    found = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for array in computed():
            plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            found.update(f"{plain.dtype.str} {plain.shape}".encode())
            found.update(plain.tobytes())
    return found.hexdigest()[:12]


def pinned(text: str) -> tuple[str, dict[str, str]]:
    """Read the file: the release whose bits it has, and the digest of each key."""
    head, *lines = text.splitlines()
    return head.removeprefix("release "), {key: digest for digest, _, key in (x.partition(" ") for x in lines)}


def sections(changelog: str) -> dict[str, str]:
    """Cut the changelog into its versions, ``"Unreleased"`` among them, the newest first."""
    parts = re.split(r"^## (\S+).*$", changelog, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def named_since(release: str, changelog: str) -> list[str]:
    """Return the keys, with stars, that the sections above a release list under "Changed output bits"."""
    found: list[str] = []
    for version, text in sections(changelog).items():
        if version == release:
            break
        _, _, rest = text.partition("### Changed output bits\n")
        changed = rest.partition("\n### ")[0]
        found += [key for keys in _NAMED.findall(changed) for key in re.findall(r"`([^`]+)`", keys)]
    return [" ".join(x.split()) for x in found]


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the keys whose bits differ, or that were removed. New keys do not count as changes."""
    return [key for key, digest in then.items() if now.get(key) != digest]


def unnamed(keys: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the keys that no name covers."""
    return [key for key in keys if not any(fnmatchcase(key, name) for name in names)]


def idle(names: Iterable[str], keys: Collection[str]) -> list[str]:
    """Return the names that do not cover a key."""
    return [name for name in names if not any(fnmatchcase(key, name) for key in keys)]


def wrong(then: Mapping[str, str], now: Mapping[str, str], names: Collection[str]) -> str:
    """Return a message on missing or superfluous entries of the changelog; "" if it is right."""
    keys = changed(then, now)
    missing, idle_names = unnamed(keys, names), idle(names, keys)
    said = [f"bits changed, and CHANGELOG.md does not say so: {', '.join(missing)}"] if missing else []
    said += [f"CHANGELOG.md names bits that did not change: {', '.join(idle_names)}"] if idle_names else []
    if not said:
        return ""
    return "\n".join([
        *said,
        'Under "### Changed output bits" of the newest section say what changed and why, and end with the keys:',
        f"    Digests: {', '.join(f'`{key}`' for key in missing) or '`KEY`'}.",
        "A `*` stands for anything. The file of digests stays that of the last release.",
    ])  # fmt: skip


def seal_of(text: str) -> str:
    """Return the digest of the file itself, which the section of its release contains."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sealed(release: str, changelog: str) -> str | None:
    """Return the digest of the file that the section of a release contains, or None."""
    found = _PINNED.search(sections(changelog).get(release, ""))
    return found and found[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or pin."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="pin the bits of this version, which is being released")
    given = parser.parse_args(arguments)
    now = {key: digest_of(computed) for key, computed in outputs().items()}
    changelog = CHANGELOG.read_text(encoding="utf-8")
    if FILE.exists():
        release, then = pinned(FILE.read_text(encoding="utf-8"))
        problem = wrong(then, now, named_since(release, changelog))
        if given.write and release == __version__:
            problem = f"the bits of {release} are pinned; wmma_emu/version.py has to name the version that is released"
        if problem:
            print(problem, file=sys.stderr)
            return 1
    if given.write:
        text = "".join(f"{line}\n" for line in (f"release {__version__}", *(f"{x} {key}" for key, x in now.items())))
        FILE.write_text(text, encoding="utf-8")
        print(f"CHANGELOG.md, under {__version__}: `tests/data/output_bits.txt` (SHA-256 `{seal_of(text)}`)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
