# SPDX-License-Identifier: MIT
"""Run modules of PyTorch's own tests of Inductor, unedited, on an emulated chip, forward and backward.

    python -m tools.inductor_programs test/inductor/test_torchinductor.py --arch h100 [--only NAME ...]

The file is PyTorch's, of about the version that is installed; it is not part of this repository. A test passes
functions or modules, with their inputs, to ``self.common``. This tool's ``common`` runs each of them without and with
``torch.compile``, with gradients for all inputs and parameters of a floating-point type. Each line is a test: its
launches, its findings by severity, launches that are not bit-exact, functions of ATen that ran on the CPU with how
often, graph breaks, the largest distance from PyTorch without compilation, relative to the largest magnitude, and
seconds.
"""

import argparse
import ast
import contextlib
import importlib
import inspect
import re
import sys
import time
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import wmma_emu as we

TESTS = (
    "test_softmax", "test_log_softmax", "test_layer_norm", "test_matmul_layer_norm", "test_batch_norm_2d", "test_gelu",
    "test_glu", "test_embedding", "test_nll_loss_forward", "test_var_mean", "test_logsumexp", "test_cumsum",
    "test_sort", "test_max_pool2d1", "test_avg_pool2d1", "test_index_put1", "test_scatter_add1",
    "test_upsample_bilinear2d_a", "test_linear2", "test_convolution1",
)  # fmt: skip
"""Tests of ``CommonTemplate`` in PyTorch's test_torchinductor.py, chosen before any of them ran here."""

HEAD = """\
| test | passes | launches | findings | not bit-exact | ATen fallbacks | graph breaks | distance | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path, help="PyTorch's test/inductor/test_torchinductor.py")
    parser.add_argument("--arch", default="h100")
    parser.add_argument("--only", nargs="*", default=list(TESTS), help="names of tests, in place of the chosen ones")
    parser.add_argument("--findings", action="store_true", help="also print the findings")
    given = parser.parse_args()
    print(HEAD)
    for name in given.only:
        for line in run(given.tests, name, given.arch, given.findings):
            print(line, flush=True)


def run(tests: Path, name: str, arch: str, show: bool) -> Iterator[str]:
    """Run a test, and yield its line of the table, and its findings."""
    begin = time.perf_counter()
    with warnings.catch_warnings(), we.emulate(arch, findings="report") as session:
        warnings.simplefilter("ignore")
        passes = _passes(tests, name)
        seconds = time.perf_counter() - begin
        report = session.report
    found = Counter(x.severity for y in report.launches if y.report for x in y.report.findings)
    inexact = sum(bool(x.report and x.report.not_bit_exact) for x in report.launches)
    breaks = sum(count for text, count in report.notes.items() if text.startswith("graph break"))
    aten = Counter[str]()
    for text, count in report.notes.items():
        if fallback := re.match(r"ATen fallback: aten\.(\S+)", text):
            aten[fallback[1].removesuffix(".default")] += count
    columns = (
        name.removeprefix("test_"), _passed(passes), len(report.launches), _counts(found), inexact, _counts(aten),
        breaks, _distance(passes), f"{seconds:.0f}",
    )  # fmt: skip
    yield "| " + " | ".join(str(x) for x in columns) + " |"
    for launch in report.launches if show else ():
        for finding in launch.report.findings if launch.report else ():
            yield f"{launch.kernel}: {finding}"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counter.items())) or "0"


def _passed(passes: "list[Pass]") -> str:
    backward = sum(x.backward for x in passes)
    return f"{len(passes)} forward, {backward} backward"


def _distance(passes: "list[Pass]") -> str:
    failures = [x.failure for x in passes if x.failure]
    return failures[0] if failures else f"{max((x.distance for x in passes), default=0.0):.1e}"


class Pass:
    """A function or a module of a test with its inputs, and how far the compiled one is from it."""

    def __init__(self) -> None:
        self.distance, self.backward, self.failure = 0.0, False, ""


def _passes(tests: Path, name: str) -> list[Pass]:
    import torch

    passes: list[Pass] = []
    template: Any = _loaded(tests).CommonTemplate

    class OneTest(template, unittest.TestCase):  # type: ignore[misc]
        device = "cuda"

        def common(self, model: Any, inputs: Any, kwargs: Any = None, **_: Any) -> None:
            one = Pass()
            passes.append(one)
            try:
                with torch.enable_grad():
                    _compare(one, model, inputs, kwargs or {})
            except Exception as error:
                one.failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"[:120]

    torch.manual_seed(0)
    test = OneTest(name)
    try:
        _called(test, name)
    except Exception as error:  # a check of the generated code, or a helper that another version has
        print(f"{name}, after {len(passes)} calls of common: {type(error).__name__}: {error}"[:200], file=sys.stderr)
    return passes


def _called(test: Any, name: str) -> None:
    """Call a test, also one that is skipped; parameters, which are flags here, are false."""
    method = getattr(type(test), name)
    while getattr(method, "__unittest_skip__", False):
        method = method.__wrapped__
    missing = [x for x in list(inspect.signature(method).parameters.values())[1:] if x.default is x.empty]
    method(test, **{x.name: False for x in missing})


def _loaded(tests: Path) -> ModuleType:
    """Run the file of tests, statement by statement: names that another version of PyTorch lacks are left out."""
    module = ModuleType("tests_of_inductor")
    module.__file__ = str(tests)
    sys.modules[module.__name__] = module
    for statement in ast.parse(tests.read_text(encoding="utf-8"), str(tests)).body:
        if isinstance(statement, ast.ImportFrom):
            _import(statement, vars(module))
            continue
        with contextlib.suppress(ImportError, AttributeError, TypeError, NameError):
            exec(compile(ast.Module([statement], []), str(tests), "exec"), vars(module))
    return module


def _import(statement: ast.ImportFrom, names: dict[str, Any]) -> None:
    for alias in statement.names:
        try:
            value = getattr(importlib.import_module(str(statement.module)), alias.name)
        except (ImportError, AttributeError):
            value = _absent
        names[alias.asname or alias.name] = value


def _absent(*given: Any, **_: Any) -> Any:
    """Stand for a function that is absent: a decorator that does nothing, with or without arguments."""
    return given[0] if len(given) == 1 and callable(given[0]) else _absent


def _compare(one: Pass, model: Any, inputs: Any, kwargs: dict[str, Any]) -> None:
    import torch

    torch._dynamo.reset()
    one.backward = True
    try:
        expected = _results(model, model, inputs, kwargs, gradients=True)
    except RuntimeError:  # an input is changed in place, or a function has no derivative
        one.backward = False
        expected = _results(model, model, inputs, kwargs, gradients=False)
    one.backward = one.backward and len(expected[1]) > 0
    found = _results(torch.compile(model), model, inputs, kwargs, gradients=one.backward)
    for ours, theirs in zip((*found[0], *found[1]), (*expected[0], *expected[1]), strict=True):
        one.distance = max(one.distance, _relative(ours, theirs))


def _results(call: Any, model: Any, inputs: Any, kwargs: Any, gradients: bool) -> tuple[list[Any], list[Any]]:
    """Return the results of a call on copies of the inputs, and the gradients of inputs and parameters."""
    import torch
    from torch.utils._pytree import tree_leaves, tree_map

    def copied(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return x.detach().clone().requires_grad_(gradients and x.is_floating_point())

    given = tree_map(copied, (tuple(inputs), kwargs))
    parameters = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    for parameter in parameters:
        parameter.grad = None
    torch.manual_seed(1)
    results = [x for x in tree_leaves(call(*given[0], **given[1])) if isinstance(x, torch.Tensor)]
    differentiable = [x for x in results if x.requires_grad]
    if not gradients or not differentiable:
        return [x.detach() for x in results], []
    generator = torch.Generator().manual_seed(2)
    torch.autograd.backward(
        differentiable, [torch.randn(x.shape, generator=generator).to(x.dtype) for x in differentiable]
    )
    leaves = [x for x in (*tree_leaves(given), *parameters) if isinstance(x, torch.Tensor) and x.grad is not None]
    return [x.detach() for x in results], [x.grad for x in leaves]


def _relative(ours: Any, theirs: Any) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not theirs.numel():
        return 0.0
    a, b = ours.double(), theirs.double()
    same = (a == b) | (a.isnan() & b.isnan())
    return float(((a - b).abs() / b.abs().max().clamp(min=1e-30)).masked_fill(same, 0).max())


if __name__ == "__main__":
    main()
