# SPDX-License-Identifier: MIT
"""Run Triton's tutorials without a GPU, and compare the PTX of every launch with what `Module.from_triton` compiles.

    python -m tools.compare_triton_texts CHECKOUT [--arch sm_90] [--configs 2] [--only 02-fused-softmax ...]

CHECKOUT is a clone of Triton (its ``python/tutorials``), or a folder of scripts. A script runs unedited under a driver
of Triton's that launches nothing, on tensors of the CPU (it needs torch): asserts are left out, benchmarks call once,
and what is in functions called ``test_*`` runs with the first of their parameters. Each kernel that Triton compiled is
compiled again, for the same arguments as arrays of NumPy, with Triton's cache turned off, and both PTX sources are
compared.
"""

import argparse
import dataclasses
import inspect
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np

from tools.torch_without_gpu import fake_cuda
from wmma_emu.instructions import arch_of
from wmma_emu.ptx import Module, TritonTensor

_SECONDS = 240
_TRIED = 256


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.compare_triton_texts", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument(
        "--configs",
        type=int,
        default=2,
        help="the number of configurations of an autotuned kernel (default: %(default)s)",
    )
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME", help="scripts whose path holds one of these")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="for each script (default: %(default)s)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(compare_script(given.checkout, given.arch, given.configs, given.seconds)))
        return 0
    folder = given.checkout / "python" / "tutorials"
    folder = folder if folder.is_dir() else given.checkout
    scripts = [x for x in sorted(folder.rglob("*.py")) if x.name[0].isdigit()]
    wanted = [x for x in scripts if not given.only or any(y in str(x) for y in given.only)]
    rows = [_in_a_process(x, given) for x in wanted]
    print(f"{sum(x['equal'] for x in rows)} of {sum(x['texts'] for x in rows)} PTX sources are equal")
    return int(any(x["texts"] != x["equal"] for x in rows))


def _in_a_process(script: Path, given: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.compare_triton_texts", str(script), "--one", "--arch", given.arch]
    command += ["--configs", str(given.configs), "--seconds", str(given.seconds)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache, "MPLBACKEND": "agg"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = done.stdout.strip().splitlines()
    row = json.loads(lines[-1]) if done.returncode == 0 and lines else {"texts": 0, "equal": 0, "kernels": {}}
    ended = row.get("ended") or (done.stderr.strip().splitlines() or ["?"])[-1]
    print(
        f"| {script.parent.name}/{script.stem} | {given.arch} | {row['texts']} | {row['equal']} | {ended} |", flush=True
    )
    for kernel, (equal, texts) in row["kernels"].items():
        print(f"|   {kernel} | | {texts} | {equal} | |")
    for text in row.get("differ", ()):
        print(f"    {text}")
    return row


class Recorder:
    """A launch, and whether both PTX sources are the same."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.kernels: dict[str, tuple[int, int]] = {}
        self.differ: list[str] = []
        self._seen: set[str] = set()

    def compare(self, function: Any, kernel: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        """Compile a launch of Triton again."""
        if kernel is None or kernel.hash in self._seen:
            return
        self._seen.add(kernel.hash)
        own, reason = "", "another text"
        try:
            with mock.patch.dict(os.environ, TRITON_ALWAYS_COMPILE="1"):
                made: Any = Module.from_triton(function, arch=self.arch)
                # A launch of Triton's own checks variables that a kernel uses; it has been compiled here already.
                own = made.kernel.module(*map(array, arguments), **{x: array(y) for x, y in keywords.items()}).text
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:300]}"
        same = own == kernel.asm["ptx"]
        equal, texts = self.kernels.get(kernel.name, (0, 0))
        self.kernels[kernel.name] = equal + same, texts + 1
        if not same:
            self.differ.append(f"{kernel.name}: {reason}")


def array(value: Any) -> Any:
    """Turn an argument's tensors into arrays of the same bytes, views of their storage."""
    import torch

    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        raw = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
        begin, kind = value.data_ptr() - storage.data_ptr(), np.dtype(_numpy_name(value.dtype))
        stop = begin + (storage.nbytes() - begin) // kind.itemsize * kind.itemsize
        return raw[begin:stop].view(kind)
    if dataclasses.is_dataclass(value) and isinstance(getattr(value, "base", None), torch.Tensor):
        return dataclasses.replace(value, base=TritonTensor(array(value.base)))  # type: ignore[type-var]
    if isinstance(value, tuple):
        found = [array(x) for x in value]
        return type(value)(*found) if hasattr(value, "_fields") else tuple(found)
    return value


def _numpy_name(kind: Any) -> Any:
    name = str(kind).removeprefix("torch.")
    return getattr(ml_dtypes, name, name)


def compare_script(path: Path, arch: str, configs: int, seconds: int) -> dict[str, Any]:
    """Run a script, and compare the PTX of its launches."""
    recorder = Recorder(arch)
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        with _recorded(recorder, configs):
            ended = _run(path)
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)
        line = next((x.lineno for x in reversed(where) if x.filename == str(path)), "?")
        ended = f"line {line}: {type(error).__name__} {str(error).strip().partition(chr(10))[0][:100]}"
    signal.alarm(0)
    texts = {
        "texts": sum(x[1] for x in recorder.kernels.values()),
        "equal": sum(x[0] for x in recorder.kernels.values()),
    }
    return {**texts, "kernels": recorder.kernels, "differ": recorder.differ, "ended": ended}


class _Stopped(BaseException):
    """A script took too long; no ``except Exception`` on the way keeps it."""


def _stop(*_: Any) -> None:
    raise _Stopped("it took too long")


def _run(path: Path) -> str:
    """Run a script as the main program, and then its tests."""
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec", optimize=1)
    failed = [_reason(lambda: exec(code, vars(module)), "")]
    for name, function in [x for x in vars(module).items() if x[0].startswith("test_") and callable(x[1])]:
        failed.append(_tested(name, function))
    return "; ".join(filter(None, failed)) or "to its end"


def _reason(action: Any, what: str) -> str:
    """Return a message on an unfinished script."""
    try:
        action()
    except _Stopped:
        raise
    except BaseException as error:  # pytest's exceptions do not derive from Exception
        return f"{what}{type(error).__name__} {str(error).strip().partition(chr(10))[0][:100]}"
    return ""


def _tested(name: str, function: Any) -> str:
    """Run a test with the first of its parameters that it does not skip."""
    marks = getattr(function, "pytestmark", ())
    if any(x.name == "skipif" and x.args[0] for x in marks):
        return ""
    reason = ""
    for given in itertools.islice(_parameters(function, marks), _TRIED):
        reason = _reason(lambda given=given: function(**given), f"{name}: ")
        if "Skipped" not in reason:
            break
    return reason


def _parameters(function: Any, marks: Any) -> Iterator[dict[str, Any]]:
    """Return the parameters that pytest would pass; empty if some are missing."""
    axes = []
    for mark in [x for x in marks if x.name == "parametrize"]:
        names, values = mark.args[:2]
        listed = [x.strip() for x in names.split(",")] if isinstance(names, str) else list(names)
        rows = [getattr(x, "values", x) if hasattr(x, "marks") else x if len(listed) > 1 else (x,) for x in values]
        axes.append([dict(zip(listed, x, strict=True)) for x in rows])
    needed = {x.name for x in inspect.signature(function).parameters.values() if x.default is x.empty}
    for found in itertools.product(*axes):
        given = {name: x for part in found for name, x in part.items()}
        if needed <= set(given):
            yield given


@contextmanager
def _recorded(recorder: Recorder, configs: int) -> Iterator[None]:
    """Let every launch of Triton be compiled and compared, and none be run."""
    import torch
    import triton
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    run, prune = JITFunction.run, Autotuner.prune_configs

    def launched(self: Any, *arguments: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
        given = dict(keywords)
        kernel = run(self, *arguments, grid=grid, warmup=True, **keywords)
        with mock.patch.object(JITFunction, "run", run):
            recorder.compare(self, kernel, arguments, given)
        return kernel

    class Report:
        def __init__(self, *_: Any) -> None: ...
        def run(self, *_: Any, **__: Any) -> None: ...

    def bench(function: Any, *_: Any, **__: Any) -> list[float]:
        function()
        return [1.0, 1.0, 1.0]

    with ExitStack() as stack:
        stack.enter_context(fake_cuda(arch_of(recorder.arch).number, bench))
        patch = mock.patch.object
        stack.enter_context(patch(JITFunction, "run", launched))
        stack.enter_context(patch(Autotuner, "prune_configs", lambda self, given: prune(self, given)[:configs]))
        stack.enter_context(patch(torch.testing, "assert_close", lambda *_, **__: None))
        stack.enter_context(patch(triton.testing, "perf_report", lambda *_: Report))
        stack.enter_context(patch(triton.testing, "do_bench", lambda f, **_: bench(f)[0]))
        yield


if __name__ == "__main__":
    sys.exit(main())
