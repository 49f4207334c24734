# SPDX-License-Identifier: MIT
"""Run a Python program in this process as ``python script.py`` or ``python -m module`` would."""

import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

_LOADERS = (os.path.dirname(__file__), "<frozen runpy>", runpy.__file__)
"""Files whose frames at the beginning of a traceback are not the program's."""


def run_program(program: str, arguments: Sequence[str], is_module: bool = False) -> int:
    """Run a script, or a module, as ``__main__``, and return its exit status.

    As Python does, it sets ``sys.argv`` and the first folder of ``sys.path``, and shows the traceback of an error. Both
    keep their values, because threads and ``atexit`` functions of the program may use them.

    Parameters
    ----------
    program : str
        The path of a script, or the name of a module.
    arguments : sequence of str
        The arguments of the program.
    is_module : bool
        Whether the program is named as in ``python -m``.

    Raises
    ------
    OSError
        If the script cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = Path(folder) / "script.py"
    ...     _ = script.write_text("import sys; print(__name__, sys.argv[1:]); sys.exit(3)")
    ...     before = sys.argv, sys.path[:], sys.modules["__main__"]
    ...     run_program(str(script), ["--lr", "1"])
    __main__ ['--lr', '1']
    3
    >>> sys.argv, sys.path[:], sys.modules["__main__"] = before
    """
    code = None if is_module else compile(Path(program).read_bytes(), program, "exec")
    sys.argv = [program, *arguments]
    sys.path.insert(0, os.getcwd() if is_module else str(Path(program).resolve().parent))
    try:
        if code is None:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            main = ModuleType("__main__")
            main.__file__ = os.path.abspath(program)
            sys.modules["__main__"] = main
            exec(code, main.__dict__)
    except SystemExit as end:
        return _status_of(end.code)
    except Exception as error:
        traceback.print_exception(error.with_traceback(_of_program(error.__traceback__)))
        return 1
    return 0


def _status_of(code: object) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _of_program(frames: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames that started the program."""
    while frames is not None and frames.tb_next and frames.tb_frame.f_code.co_filename.startswith(_LOADERS):
        frames = frames.tb_next
    return frames
