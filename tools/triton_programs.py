# SPDX-License-Identifier: MIT
"""Run Triton kernels of other projects, unedited, on an emulated chip, and measure how far they are from PyTorch.

    python -m tools.triton_programs TUTORIALS LIGER --arch a100 [--only NAME ...]

TUTORIALS is a folder with Triton's tutorials, and LIGER the folder ``src`` of Liger-Kernel; neither is part of this
repository. A tutorial is cut before its benchmark, because that runs thousands of launches; its functions are then
called with small sizes. PyTorch for CPUs is needed. Each line is a case: its launches, its findings by severity, the
largest distance from PyTorch's result in double precision or in float32, and the seconds with compilation.
"""

import argparse
import importlib
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import wmma_emu as we

_ENDS = ("torch.manual_seed(0)", "@triton.testing.perf_report")
"""The first line of a tutorial at module level that is left out begins with one of these."""

Case = Callable[[], float]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Add a case, which returns the largest distance."""
    CASES[function.__name__] = function
    return function


def far(*pairs: tuple[Any, Any]) -> float:
    """Return the largest distance between two tensors of a pair."""
    return max(float((a.double() - b.double()).abs().max()) for a, b in pairs)


def with_gradients(ours: Callable[..., Any], theirs: Callable[..., Any], *inputs: Any) -> float:
    """Return the largest distance between two functions' results and gradients."""
    import torch

    copies = [[x.clone().requires_grad_() for x in inputs] for _ in range(2)]
    found, expected = ours(*copies[0]), theirs(*copies[1])
    gradient = torch.randn_like(expected)
    found.backward(gradient.to(found.dtype).clone())
    expected.backward(gradient)
    gradients = [(a.grad, b.grad) for a, b in zip(*copies, strict=True)]
    return far((found.detach(), expected.detach()), *gradients)


def drawn(*shape: int) -> Any:
    import torch

    return torch.randn(*shape, device="cuda")


def tutorial(name: str) -> ModuleType:
    return importlib.import_module(f"cut_{name}")


@case
def tutorial_01_vector_add() -> float:
    x, y = drawn(1000), drawn(1000)
    return far((tutorial("01_vector_add").add(x, y), x + y))


@case
def tutorial_02_fused_softmax() -> float:
    x = drawn(23, 781)
    return far((tutorial("02_fused_softmax").softmax(x), x.double().softmax(1)))


@case
def tutorial_03_matrix_multiplication() -> float:
    import torch

    a, b = drawn(128, 96).half() / 4, drawn(96, 160).half() / 4
    exact, matmul = a.double() @ b.double(), tutorial("03_matrix_multiplication").matmul
    leaky = torch.nn.functional.leaky_relu(exact, 0.01)
    return far((matmul(a, b), exact), (matmul(a, b, activation="leaky_relu"), leaky))


@case
def tutorial_03_matrix_multiplication_fp8() -> float:
    import torch

    a, b = (drawn(64, 96).to(torch.float8_e5m2) for _ in range(2))
    return far((tutorial("03_matrix_multiplication").matmul(a, b.T), a.double() @ b.T.double()))


@case
def tutorial_05_layer_norm() -> float:
    import torch

    layer_norm = tutorial("05_layer_norm").layer_norm
    theirs = torch.nn.functional.layer_norm
    x, w, b = drawn(9, 300).double(), drawn(300).double(), drawn(300).double()
    return with_gradients(
        lambda x, w, b: layer_norm(x.float(), (300,), w.float(), b.float(), 1e-5),
        lambda x, w, b: theirs(x, (300,), w, b, 1e-5), x, w, b,
    )  # fmt: skip


@case
def tutorial_06_fused_attention() -> float:
    import torch

    attention = tutorial("06_fused_attention").attention
    q, k, v = (drawn(1, 1, 128, 64).half() / 2 for _ in range(3))

    def theirs(q: Any, k: Any, v: Any) -> Any:
        scores = q.float() @ k.float().transpose(2, 3) * 0.5
        future = torch.ones(128, 128).triu(1).bool()
        return scores.masked_fill(future, float("-inf")).softmax(-1) @ v.float()

    return with_gradients(lambda q, k, v: attention(q, k, v, True, 0.5, False, False), theirs, q, k, v)


def liger(name: str) -> ModuleType:
    """Import a file of Liger's operations, without the packages around it, which need transformers."""
    importlib.import_module("torch.distributed.tensor")  # which some of the files use, and others import
    root = Path(_FOLDERS["liger"]) / "liger_kernel"
    for package in ("liger_kernel", "liger_kernel.ops"):
        if package not in sys.modules:
            sys.modules[package] = ModuleType(package)
            sys.modules[package].__path__ = [str(root.joinpath(*package.split(".")[1:]))]
    return importlib.import_module(f"liger_kernel.ops.{name}")


@case
def liger_rms_norm() -> float:
    import torch

    ours = liger("rms_norm").LigerRMSNormFunction.apply
    theirs = torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, w: ours(x, w, 1e-6), lambda x, w: theirs(x, (64,), w, 1e-6), drawn(6, 64), drawn(64)
    )


@case
def liger_layer_norm() -> float:
    import torch

    ours = liger("layer_norm").LigerLayerNormFunction.apply
    theirs = torch.nn.functional.layer_norm
    return with_gradients(
        lambda x, w, b: ours(x, w, b, 1e-6), lambda x, w, b: theirs(x, (64,), w, b, 1e-6),
        drawn(6, 64), drawn(64), drawn(64),
    )  # fmt: skip


@case
def liger_group_norm() -> float:
    import torch

    ours = liger("group_norm").LigerGroupNormFunction.apply
    theirs = torch.nn.functional.group_norm
    return with_gradients(
        lambda x, w, b: ours(x, w, b, 8, 2, 1e-6), lambda x, w, b: theirs(x, 2, w, b, 1e-6),
        drawn(2, 8, 12), drawn(8), drawn(8),
    )  # fmt: skip


@case
def liger_swiglu() -> float:
    import torch

    ours = liger("swiglu").LigerSiLUMulFunction.apply
    return with_gradients(ours, lambda a, b: torch.nn.functional.silu(a) * b, drawn(6, 64), drawn(6, 64))


@case
def liger_geglu() -> float:
    import torch

    ours, gelu = liger("geglu").LigerGELUMulFunction.apply, torch.nn.functional.gelu
    return with_gradients(ours, lambda a, b: gelu(a, approximate="tanh") * b, drawn(6, 64), drawn(6, 64))


@case
def liger_softmax() -> float:
    return with_gradients(liger("softmax").LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), drawn(6, 60))


@case
def liger_cross_entropy() -> float:
    import torch

    ours, theirs = liger("cross_entropy").LigerCrossEntropyFunction.apply, torch.nn.functional.cross_entropy
    wanted = torch.randint(0, 97, (6,), device="cuda")
    return with_gradients(lambda x: ours(x, wanted, None, -100)[0], lambda x: theirs(x, wanted), drawn(6, 97))


@case
def liger_fused_linear_cross_entropy() -> float:
    import torch

    ours = liger("fused_linear_cross_entropy").LigerFusedLinearCrossEntropyFunction.apply
    theirs, weight = torch.nn.functional.cross_entropy, drawn(97, 32)
    wanted = torch.randint(0, 97, (6,), device="cuda")
    return with_gradients(lambda x: ours(x, weight, wanted)[0], lambda x: theirs(x @ weight.T, wanted), drawn(6, 32))


@case
def liger_kl_div() -> float:
    import torch

    ours, wanted = liger("kl_div").LigerKLDivLossFunction.apply, drawn(6, 50).softmax(-1)
    theirs = torch.nn.functional.kl_div
    return with_gradients(
        lambda x: ours(x, wanted, "batchmean", False, 1e-10), lambda x: theirs(x, wanted, reduction="batchmean"),
        drawn(6, 50).log_softmax(-1),
    )  # fmt: skip


@case
def liger_tvd() -> float:
    ours, other = liger("tvd").LigerTVDLossFunction.apply, drawn(6, 50).softmax(-1)
    return with_gradients(
        lambda p: ours(p, other), lambda p: (p - other).abs().sum() / 12, drawn(6, 50).softmax(-1)
    )  # fmt: skip


@case
def liger_rope() -> float:
    import torch

    ours = liger("rope").LigerRopeFunction.apply
    angles = torch.outer(torch.arange(8.0), 10000 ** (-torch.arange(0, 16, 2) / 16)).repeat(1, 2)
    cos, sin = angles.cos()[None], angles.sin()[None]

    def turned(x: Any) -> Any:
        return x * cos + torch.cat((-x[..., 8:], x[..., :8]), -1) * sin

    q, k = drawn(1, 2, 8, 16), drawn(1, 1, 8, 16)
    expected = turned(q), turned(k)
    return far(*zip(ours(q.clone(), k.clone(), cos, sin), expected, strict=True))


_FOLDERS: dict[str, str] = {}


def cut(folder: Path, out: Path) -> None:
    """Write each tutorial up to its test or benchmark."""
    for path in sorted(folder.glob("0*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        tests = "torch.manual_seed" if "attention" not in path.name else _ENDS[1]
        ends = [i for i, x in enumerate(lines) if x.startswith((tests, _ENDS[1]))]
        text = "\n".join(lines[: ends[0]] if ends else lines)
        (out / f"cut_{path.stem.replace('-', '_')}.py").write_text(text, encoding="utf-8")


def rows(arch: str, names: list[str]) -> Iterator[str]:
    """Run the cases, and yield a line for each."""
    for name in names:
        begin = time.perf_counter()
        with warnings.catch_warnings(), we.emulate(arch, findings="report") as session:
            warnings.simplefilter("ignore")
            import torch

            torch.manual_seed(0)
            try:
                said = f"{CASES[name]():.1e}"
            except Exception as error:
                said = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        launches = session.report.launches
        found = Counter(x.severity for y in launches if y.report for x in y.report.findings)
        findings = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items())) or "0"
        inexact = sum(bool(x.report and x.report.not_bit_exact) for x in launches)
        yield (f"| `{name}` | {len(launches)} | {findings} | {inexact} | {said} | {time.perf_counter() - begin:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tutorials", type=Path)
    parser.add_argument("liger")
    parser.add_argument("--arch", default="a100")
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    given = parser.parse_args()
    _FOLDERS["liger"] = given.liger
    with tempfile.TemporaryDirectory() as folder:
        cut(given.tutorials, Path(folder))
        sys.path[:0] = [folder, str(given.tutorials)]
        print("| case | launches | findings | launches that are not bit-exact | distance | seconds |")
        print("| --- | --- | --- | --- | --- | --- |")
        for row in rows(given.arch, given.only):
            print(row, flush=True)


if __name__ == "__main__":
    main()
