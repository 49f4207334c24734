# SPDX-License-Identifier: MIT
"""How long `import wmma_emu` takes once NumPy is there, and how long the command line takes to start.

python benchmarks/import_time.py [--repeats 9]
"""

import argparse
import statistics
import subprocess
import sys
import time

IMPORT = "import time, numpy; start = time.perf_counter(); import wmma_emu; print((time.perf_counter() - start) * 1000)"


def import_milliseconds() -> float:
    return float(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout)


def command_milliseconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "wmma_emu", *arguments], capture_output=True, check=True)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    rows = {
        "import wmma_emu, NumPy there": [import_milliseconds() for _ in range(repeats)],
        "wmma-emu --version": [command_milliseconds("--version") for _ in range(repeats)],
        "wmma-emu list": [command_milliseconds("list") for _ in range(repeats)],
    }
    for name, times in rows.items():
        print(f"{name:30} median {statistics.median(times):6.0f} ms, {min(times):.0f} to {max(times):.0f}")


if __name__ == "__main__":
    main()
