# SPDX-License-Identifier: MIT
"""Build the wheel and the sdist twice, compare them byte for byte, and test them like a user who downloads them.

    python -m tools.check_distribution [--out dist]

The two builds have other folders, permissions, times of files, time zones, languages and orders of sets; a
build depends neither on the clock nor on a repository, so every `python -m build` gives the same bytes. Then
`twine check --strict` and `check-wheel-contents`; the wheel in a fresh environment, with the commands of
`_USES`; and the sdist, unpacked and installed in another environment, with the tests of `_TESTS`. It needs the
dependency group `release`, and an index for NumPy, ml_dtypes and the tests' libraries. ``--out`` keeps
the wheel and the sdist.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

_CACHES = {
    "__pycache__", ".hypothesis", ".git", ".venv", ".ci-venv", "build", "dist", ".mypy_cache", ".ruff_cache",
    ".pytest_cache",
}  # fmt: skip
_USES = (
    ("wmma-emu", "--version"),
    ("wmma-emu", "show", "m16n8k16.f32.f16.f16.f32"),
    ("wmma-emu", "gemm", "{examples}/a_f16.npy", "{examples}/b_f16.npy", "-o", "d.npy"),
)
_TESTS = (
    "tests/formats",
    "tests/instructions",
    "tests/tools/test_output_bits.py",
    "tests/docs/test_repository_files.py",
)
_LIBRARIES = ("pytest>=8", "hypothesis>=6.100", "gfloat>=0.5.2")


class Surroundings(NamedTuple):
    """The environment in which the two builds differ, and which must not change the bytes."""

    folder: str
    umask: int
    age: int
    variables: dict[str, str]


SURROUNDINGS = (
    Surroundings("a", 0o022, 0, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
    Surroundings("another folder", 0o077, 10**7, {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}),
)


def files() -> Iterator[Path]:
    """List the project's files, by git where this is a checkout."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
        yield from (Path(x) for x in listed if x and (ROOT / x).is_file())
    else:
        yield from (x.relative_to(ROOT) for x in ROOT.rglob("*") if x.is_file() and not _CACHES & {*x.parts})


def built(around: Surroundings, folder: Path) -> dict[str, Path]:
    """Build in a copy of the project; return the wheel and the sdist by their names."""
    copy, out = folder / around.folder / "project", folder / around.folder / "dist"
    for path in files():
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, target)
        os.utime(target, (time.time() - around.age,) * 2)
        target.chmod(target.stat().st_mode & ~around.umask)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    variables = {x: y for x, y in os.environ.items() if x != "SOURCE_DATE_EPOCH"} | around.variables
    run(command, copy, variables, around.umask)
    return {x.name: x for x in sorted(out.iterdir())}


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None, umask: int = -1) -> None:
    """Run a command quietly; what it says is shown where it fails."""
    done = subprocess.run(
        command, cwd=folder, env=variables, umask=umask, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}")


def differences(one: Mapping[str, Path], other: Mapping[str, Path]) -> list[str]:
    """Name the files of one build that the other one lacks, or has with other bytes."""
    digests = [{x: hashlib.sha256(y.read_bytes()).hexdigest() for x, y in files.items()} for files in (one, other)]
    return sorted(x for x in {*one, *other} if digests[0].get(x) != digests[1].get(x))


def environment(folder: Path, *requirements: str) -> dict[str, str]:
    """Make an environment with requirements; return variables with which its programs are found."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run([str(programs / "python"), "-m", "pip", "install", "--quiet", *requirements], folder)
    kept = {x: y for x, y in os.environ.items() if x not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel and run the main commands, in an empty folder."""
    (folder / "empty").mkdir(parents=True)
    variables = environment(folder / "venv", str(wheel))
    for words in _USES:
        command = [x.format(examples=ROOT / "examples") for x in words]
        program = shutil.which(command[0], path=variables["PATH"])
        run([program or command[0], *command[1:]], folder / "empty", variables)


def try_sdist(sdist: Path, folder: Path) -> None:
    """Unpack the sdist, install it and run some of its tests there."""
    folder.mkdir()
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    variables = environment(folder / "venv", str(unpacked), *_LIBRARIES)
    run([str(shutil.which("python", path=variables["PATH"])), "-m", "pytest", "-q", *_TESTS], unpacked, variables)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check; the exit status says whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where the wheel and the sdist are kept")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, other = (built(x, folder) for x in SURROUNDINGS)
        different = differences(one, other)
        if different:
            print(f"two builds differ: {', '.join(different)}", file=sys.stderr)
            return 1
        (wheel,), (sdist,) = ([x for x in one.values() if x.name.endswith(end)] for end in (".whl", ".tar.gz"))
        print(f"built twice, equal: {', '.join(f'{x.name} ({x.stat().st_size:,} bytes)' for x in one.values())}")
        run([sys.executable, "-m", "twine", "check", "--strict", *map(str, one.values())], ROOT)
        run([sys.executable, "-m", "check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), str(wheel)], ROOT)
        print("twine check --strict, check-wheel-contents: nothing to say")
        try_wheel(wheel, folder / "wheel")
        print("the wheel, in a separate environment: its commands run")
        try_sdist(sdist, folder / "sdist")
        print(f"the sdist, unpacked: {', '.join(_TESTS)} pass")
        if given.out:
            given.out.mkdir(parents=True, exist_ok=True)
            for path in one.values():
                shutil.copy(path, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
