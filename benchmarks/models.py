# SPDX-License-Identifier: MIT
"""The time of whole models of PyTorch with a chip's bits, next to PyTorch's own, measured in the same run.

    python -m benchmarks.models                   a transformer layer, bf16, 512 x 1024, 16 heads; needs PyTorch
    python -m benchmarks.models --json FILE
    python -m benchmarks.models --device cuda     the same on a GPU, where the engine cupy multiplies; needs CuPy

Each model runs in PyTorch's float32, in its bf16, and emulated; rounds are repeated, and the shortest times printed.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from wmma_emu.arithmetic import cupy_engine
from wmma_emu.formats import format_of


@dataclass(frozen=True)
class ModelTime:
    """The shortest times of one model, in seconds."""

    model: str
    arch: str
    direction: str
    multiply_adds: int
    torch_f32: float
    torch_bf16: float
    emulated: float
    products: float
    gemm: float

    def __str__(self) -> str:
        return (
            f"{self.model}, {self.arch}, {self.direction}: {self.emulated:.3g} s emulated, of which "
            f"{self.products:.3g} s products ({self.multiply_adds / self.products:.2g} multiply-adds a second), "
            f"{self.torch_f32:.3g} s PyTorch float32 ({self.emulated / self.torch_f32:.1f} times), "
            f"{self.torch_bf16:.3g} s bf16 ({self.emulated / self.torch_bf16:.1f} times); a product takes "
            f"{self.gemm:.2f} times wmma_emu.gemm"
        )


def shortest(run: Callable[[], object], rounds: int, wait: Callable[[], object] = lambda: None) -> float:
    run()
    times = []
    for _ in range(rounds):
        wait()
        begin = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure(arch: str, rounds: int, device: str) -> list[ModelTime]:
    import torch

    import wmma_emu as we

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0)
    narrow = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0).bfloat16()
    x = torch.randn(1, 512, 1024, device=device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for model in (layer, narrow):
        model.to(device)

    def forward(model: torch.nn.Module) -> None:
        with torch.no_grad():
            model(x.to(next(model.parameters()).dtype))

    def both(model: torch.nn.Module) -> None:
        model.zero_grad()
        model(x.to(next(model.parameters()).dtype)).float().square().sum().backward()

    a, b = (torch.randn(n, 1024, device=device).to(torch.bfloat16) for n in (512, 1024))
    alone = shortest(lambda: gemm(a, b, arch), rounds, wait)
    with we.torch.emulate(arch):
        share = shortest(lambda: a @ b, rounds, wait) / alone
    found = []
    for direction, run in (("forward", forward), ("forward and backward", both)):
        plain = [shortest(lambda run=run, m=m: run(m), rounds, wait) for m in (layer, narrow)]
        with we.torch.emulate(arch) as emulation:
            emulated = shortest(lambda run=run: run(narrow), rounds, wait)
            emulation.log.clear()
            run(narrow)
        seconds = sum(record.seconds for record in emulation.log)
        work = sum(record.multiply_adds for record in emulation.log)
        name = "transformer layer, bf16, 512 x 1024, 16 heads"
        found.append(ModelTime(name, arch, direction, work, *plain, emulated, seconds, share))
    return found


def gemm(a: Any, b: Any, arch: str) -> object:
    """Multiply tensors without an emulation; on a GPU, as raw bits in CuPy arrays, as CuPy lacks bf16."""
    import torch

    import wmma_emu as we

    if a.device.type == "cpu":
        return we.gemm(a, b, arch=arch, out_dtype=a.dtype)
    import cupy

    words = [cupy.from_dlpack(x.view(torch.int16)).view("uint16") for x in (a, b)]
    d = we.gemm(*words, instr="m16n8k16.f32.bf16.bf16.f32", arch=arch, engine="cupy")
    return cupy_engine.convert(d.view("uint32"), format_of("f32"), format_of("bf16"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="h100")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, help="a file for the results")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measure(given.arch, given.rounds, given.device)
    print("\n".join(map(str, found)))
    if given.json:
        results = {"machine": machine(), "models": [asdict(x) for x in found]}
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
