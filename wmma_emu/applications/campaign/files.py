# SPDX-License-Identifier: MIT
"""Files of a campaign: written whole, or not at all."""

import os
from pathlib import Path


def replace_text(path: str | Path, text: str) -> None:
    """Write a file so that an interrupt or a full disk leaves the old one or the new one, whole, and nothing else.

    An ``OSError`` says what the system says, with the name of the file.
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
