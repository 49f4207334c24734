# SPDX-License-Identifier: MIT
"""Run the repaired kernels of tests/ptx/planted/ on this GPU: under compute-sanitizer nothing may be found in them.

compute-sanitizer --tool racecheck python -m tools.run_planted_ptx
"""

import sys

from tests.ptx.planted.table import PLANTED
from tools.record_ptx_kernels import DriverLauncher


def main() -> int:
    launcher = DriverLauncher()
    for bug in PLANTED.values():
        launcher.launch(bug.ptx(fixed=True), bug.kernel, bug.grid, bug.block, bug.shared, bug.arguments())
        print(bug.kernel, flush=True)
    launcher.device.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
