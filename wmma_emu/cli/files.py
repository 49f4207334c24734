# SPDX-License-Identifier: MIT
"""Files that commands write: checked before anything is computed, written whole or not at all."""

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from wmma_emu.cli.usage import UsageError


def check_name(path: str, fix: str) -> None:
    """Reject an illegal file name; the interpreter's own message changes with its version."""
    if not path or "\0" in path:
        raise UsageError(f"{path!r} is not a file name; name {fix}")


def check_output(path: str, inputs: Iterable[str], example: str = "D.npy") -> None:
    """Check that a file can be written, before anything is computed; error messages show the example name."""
    try:
        check_name(path, f"one to write, such as {example}")
        target = Path(path)
        if path.endswith((os.sep, "/")) and not target.is_dir():
            raise UsageError(
                f"{path}: the directory does not exist; name a file, such as {example}, or create the directory first"
            )
        if target.is_dir():
            raise UsageError(f"{path}: a directory; name a file in it, such as {target / example}")
        folder = Path(os.path.realpath(target)).parent
        if not folder.is_dir():
            raise UsageError(f"{path}: the directory {folder} does not exist; create it first")
        if target.exists() and not target.is_file():
            raise UsageError(f"{path}: not a regular file; name one to write, such as {example}")
        for other in inputs:
            if target.exists() and os.path.exists(other) and os.path.samefile(target, other):
                raise UsageError(f"{path} is also an input; name another file to write")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{path}: no permission to write in {folder}")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path!r}: {error}") from None


def write_text(path: str, text: str) -> None:
    """Write a string to a file, as `write_file` does."""
    write_file(path, lambda file: file.write(text.encode()))


def write_file(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Let a function write a temporary file in the same directory, then rename it.

    A replaced file's permissions are kept; if writing fails, the temporary file is removed.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        file = open(temporary, "xb")
        try:
            with file:
                with suppress(FileNotFoundError):
                    shutil.copymode(target, temporary)
                write(file)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
