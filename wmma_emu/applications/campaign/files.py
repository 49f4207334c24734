# SPDX-License-Identifier: MIT
"""Atomic writes of a campaign's files."""

import os
from pathlib import Path


def replace_text(path: str | Path, text: str) -> None:
    """Write a file so that an interrupt or a full disk leaves either the old file or the new one, complete.

    An ``OSError`` has the system's message and the name of the file.
    """
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f"{target.name[:200]}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        unfinished.unlink(missing_ok=True)
