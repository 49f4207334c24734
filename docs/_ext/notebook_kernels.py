# SPDX-License-Identifier: MIT
"""The kernels that execute the lessons: with settings of this site, not of the user who builds it.

Local kernels communicate over TCP, about which each would warn; and the theme's code styles, from the package
`a11y_pygments`, turn on Python's informational logging.
"""

import atexit
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

__all__ = ["setup"]

_SETTINGS = 'c = get_config()\nc.IPKernelApp.log_level = "ERROR"\nc.HistoryManager.enabled = False\n'


def setup(app: Sphinx) -> dict[str, Any]:
    """Set a temporary folder of settings for kernels during the build."""
    folder = Path(tempfile.mkdtemp(prefix="wmma_emu_ipython_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "profile_default").mkdir()
    (folder / "profile_default/ipython_kernel_config.py").write_text(_SETTINGS, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(folder)
    logging.getLogger("traitlets").setLevel("WARNING")
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
