# SPDX-License-Identifier: MIT
"""Cases of Gluon's tutorials that run on sm_90; their functions get small sizes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tools.language_programs.case import cases_of
from tools.language_programs.checkouts import beginning_of
from tools.language_programs.tensors import drawn, far
from tools.language_programs.tutorials import FORK, gpu_of_the_fork

GLUON = FORK._replace(name="gluon")

case = cases_of(GLUON)
_FOLDER = "python/tutorials/gluon"


def tutorial(name: str, called: str = "") -> Any:
    """Import a tutorial."""
    with gpu_of_the_fork():
        return _beginning(name, called)


@contextmanager
def stores_by_their_old_name() -> Iterator[None]:
    """Let kernels call TMA's store by the name that it had before Triton 3.9."""
    from triton.experimental.gluon.language.nvidia.hopper import tma

    with mock.patch.object(tma, "async_copy_shared_to_global", tma.async_store):
        yield


def _beginning(name: str, called: str) -> Any:
    return beginning_of(GLUON.folder / _FOLDER / f"{name}.py", (), called or f"gluon_{name[:2]}")


@case(f"{_FOLDER}/01-intro.py: copy_scalar_kernel memcpy_kernel memcpy_kernel_autotune")
def gluon_01_intro() -> float:
    import torch

    module, x = tutorial("01-intro"), drawn(500)
    outs = [torch.empty_like(x) for _ in range(2)]
    one = torch.empty(1)
    module.copy_scalar(x[:1], one)
    module.memcpy(x, outs[0], 64)
    module.memcpy_autotune(x, outs[1])
    return far((one, x[:1]), *((y, x) for y in outs))


@case(f"{_FOLDER}/02-layouts.py: memcpy_1d_kernel memcpy_2d_kernel memcpy_2d_inout_kernel")
def gluon_02_layouts() -> float:
    import torch
    from triton.experimental.gluon import language as gl

    module, x, y = tutorial("02-layouts"), drawn(1000), drawn(100, 70)
    out, two, turned = torch.empty_like(x), torch.empty_like(y), torch.empty(70, 100).T
    module.memcpy_1d_impl(x, out, 256, gl.BlockedLayout([1], [32], [4], [0]), 4)
    module.memcpy_2d_impl(y, two, 32, 64, gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0]), 4)
    module.memcpy_2d_inout(y, turned)
    return far((out, x), (two, y), (turned, y))


@case(
    f"{_FOLDER}/03-async-copy.py: memcpy_1d_cpasync_kernel elementwise_add_kernel elementwise_add_cpasync_kernel "
    "elementwise_add_pipelined_kernel"
)
def gluon_03_async_copy() -> float:
    import torch
    from triton.experimental.gluon import language as gl

    module, x = tutorial("03-async-copy"), drawn(1000)
    out, a, b = torch.empty_like(x), drawn(70, 200), drawn(70, 200)
    sums = [torch.empty_like(a) for _ in range(3)]
    layout = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0])
    module.memcpy_1d_cpasync(x, out, 256)
    module.elementwise_add(a, b, sums[0], 32, 32)
    module.elementwise_add_cpasync(a, b, sums[1], layout, 32, 32)
    module.elementwise_add_pipelined(a, b, sums[2], 32, 32, 2)
    return far((out, x), *((y, a + b) for y in sums))


@case(f"{_FOLDER}/04-tma.py: memcpy_1d_tma_kernel tma_message_passing_kernel elementwise_add_tma_kernel")
@stores_by_their_old_name()
def gluon_04_tma() -> float:
    import torch

    tutorial("03-async-copy", "03-async-copy")  # it imports its neighbour by this name
    module, x, a, b = tutorial("04-tma"), drawn(500), drawn(70, 200), drawn(70, 200)
    out, sums = torch.empty_like(x), [torch.empty_like(a) for _ in range(3)]
    module.memcpy_1d_tma(x, out, 64)
    for i, total in enumerate(sums):
        module.elementwise_add_tma(a, b, total, 32, 64, i + 1)
    message = module.tma_message_passing(16)
    return far((out, x), (message, torch.arange(16) + 1000), *((y, a + b) for y in sums))


@case(f"{_FOLDER}/05-wgmma.py: small_mma_kernel blocked_matmul_kernel blocked_matmul_pipelined_kernel")
@stores_by_their_old_name()
def gluon_05_wgmma() -> float:
    import torch

    module = tutorial("05-wgmma")
    a, b, c, d = drawn(64, 32).half(), drawn(32, 32).half(), drawn(64, 32), torch.empty(64, 32)
    checked = []
    for in_registers, columns in ((False, 16), (True, 32)):
        d = torch.empty_like(c)
        module.small_mma(a, b, c, d, columns, in_registers, 4)
        checked.append((d, a.double() @ b.double() + c))
    x, y = drawn(208, 304).half() / 4, drawn(304, 144).half() / 4
    for turned, warps in ((False, 4), (True, 8)):
        z = torch.empty(208, 144).half()
        module.blocked_matmul(x, y.T.contiguous() if turned else y, z, 64, 64, 64, turned, warps)
        checked.append((z, x.double() @ y.double()))
    z = torch.empty(208, 144).half()
    module.blocked_matmul_pipelined(x, y, z, 64, 64, 64, 4)
    return far(*checked, (z, x.double() @ y.double()))
