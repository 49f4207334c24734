# SPDX-License-Identifier: MIT
"""The kernel languages that this project knows."""

from wmma_emu.languages.plugin import Language

LANGUAGES: tuple[Language, ...] = (
    Language(
        "PyTorch", "torch", "wmma_emu.languages.pytorch.installing:install", "torch", versions=("2.13.0+cpu",),
    ),
    Language(
        "Inductor", "torch._dynamo", "wmma_emu.languages.inductor.installing:install", "torch", "inductor",
        versions=("2.13.0+cpu",),
    ),
    Language(
        "Triton", "triton", "wmma_emu.languages.triton.installing:install", "triton", "triton", versions=("3.9.0",),
    ),
    Language(
        "numba-cuda", "numba.cuda", "wmma_emu.languages.numba_cuda:install", "numba-cuda", extra="numba-cuda",
        versions=("0.30.4",),
    ),
    Language(
        "Helion", "helion", "wmma_emu.languages.helion.installing:install", "helion", "helion", versions=("1.5.1",),
    ),
)  # fmt: skip
"""One entry for each language. PyTorch is not a kernel language: its plug-in answers host code that asks for CUDA.
Inductor is the compiler of ``torch.compile``; its kernels, and Helion's, are Triton's."""
