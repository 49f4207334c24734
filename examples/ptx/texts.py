# SPDX-License-Identifier: MIT
"""The PTX files of the examples and their sources: `tools.build_example_ptx` makes them, compiled/ holds them."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["CUDA", "TEXTS", "TRITON", "CudaText", "TritonText", "compiled", "source"]

FOLDER = Path(__file__).parent


class CudaText(NamedTuple):
    """A CUDA C++ file, and the chip that it is compiled for."""

    name: str
    target: str = "sm_80"

    @property
    def file(self) -> str:
        return f"{self.name}.cu"


class TritonText(NamedTuple):
    """A Triton kernel, its types, constants and options; pointers and the integers of ``divisible`` by 16."""

    name: str
    file: str
    function: str
    target: str
    signature: dict[str, str]
    constants: dict[str, object]
    divisible: tuple[str, ...]
    warps: int = 4
    stages: int = 3


CUDA = (
    CudaText("naive_wmma"),
    CudaText("wmma_types"),
    CudaText("block_wmma"),
    CudaText("ragged_wmma"),
    CudaText("bits"),
    CudaText("mma_tf32"),
    CudaText("pipelined_gemm"),
    CudaText("microtile_tf32"),
    CudaText("three_pass_tf32"),
    CudaText("requantised_s8"),
    CudaText("warp_softmax"),
    CudaText("layer_norm"),
    CudaText("contraction"),
    CudaText("divisions"),
    CudaText("known_scales"),
    CudaText("divergence"),
    CudaText("hand_over"),
    CudaText("functions"),
    CudaText("printing"),
    CudaText("sparse_mma"),
    CudaText("matrix_moves", "sm_90"),
    CudaText("wgmma", "sm_90a"),
)


def _matmul(
    name: str, target: str, element: str, result: str, sums: str, block: tuple[int, int, int],
    precision: str = "ieee", ragged: bool = False, warps: int = 4,
) -> TritonText:  # fmt: skip
    pointers = {"a_ptr": f"*{element}", "b_ptr": f"*{element}", "d_ptr": f"*{result}"}
    sizes = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_dm"), "i32")
    constants = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True))
    constants |= {"RAGGED": ragged, "PRECISION": precision, "SUM": sums}
    divisible = (*pointers, "stride_am", "stride_bk", "stride_dm") + (() if ragged else ("M", "N", "K"))
    return TritonText(
        name, "triton_matmul.py", "matmul", target, pointers | sizes, constants, divisible, warps
    )  # fmt: skip


def _flash_attention(name: str, target: str, block: tuple[int, int]) -> TritonText:
    signature = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*fp16")
    signature |= {"lse_ptr": "*fp32", "scale": "fp32", "T": "i32"}
    constants = {"HEAD": 64, "BLOCK_M": block[0], "BLOCK_N": block[1]}
    divisible = ("q_ptr", "k_ptr", "v_ptr", "out_ptr", "lse_ptr", "T")
    return TritonText(
        name, "triton_flash_attention.py", "flash_attention", target, signature, constants, divisible
    )  # fmt: skip


def _norm(name: str, target: str, function: str, element: str, constants: dict[str, object], warps: int) -> TritonText:
    names = {
        "layer_norm": ("x_ptr", "gain_ptr", "bias_ptr", "out_ptr"),
        "rms_norm": ("x_ptr", "gain_ptr", "out_ptr"),
        "gated_group_norm": ("x_ptr", "gate_ptr", "out_ptr"),
    }[function]
    statistics = {"layer_norm": ("mean_ptr", "scale_ptr"), "rms_norm": ("scale_ptr",), "gated_group_norm": ()}[function]
    signature = dict.fromkeys(names, f"*{element}") | dict.fromkeys(statistics, "*fp32")
    signature |= {"columns": "i32", "epsilon": "fp32"}
    return TritonText(
        name, "triton_norms.py", function, target, signature, constants, (*names, *statistics), warps
    )  # fmt: skip


def _softmax(name: str, divisible: tuple[str, ...]) -> TritonText:
    """Return the PTX of a launch by Triton if the integers of ``divisible`` are multiples of 16."""
    sizes = dict.fromkeys(("rows", "columns", "x_stride", "out_stride"), "i32")
    return TritonText(
        name, "triton_softmax.py", "softmax", "sm_90", {"x_ptr": "*fp32", "out_ptr": "*fp32"} | sizes,
        {"BLOCK": 1024, "STAGES": 4}, ("x_ptr", "out_ptr", *divisible), 8,
    )  # fmt: skip


TRITON = (
    _matmul("triton_f16", "sm_80", "fp16", "fp16", "fp32", (64, 64, 32)),
    _matmul("triton_f16_ragged", "sm_80", "fp16", "fp32", "fp32", (32, 64, 32), ragged=True),
    _matmul("triton_bf16", "sm_80", "bf16", "bf16", "fp32", (64, 64, 32)),
    _matmul("triton_tf32", "sm_80", "fp32", "fp32", "fp32", (64, 32, 32), "tf32"),
    _matmul("triton_tf32x3", "sm_80", "fp32", "fp32", "fp32", (64, 32, 32), "tf32x3"),
    _matmul("triton_ieee", "sm_80", "fp32", "fp32", "fp32", (32, 32, 16)),
    _matmul("triton_s8", "sm_80", "i8", "i32", "int32", (64, 64, 64)),
    _matmul("triton_e4m3", "sm_89", "fp8e4nv", "fp32", "fp32", (64, 64, 64)),
    _matmul("triton_f16_wgmma", "sm_90", "fp16", "fp16", "fp32", (64, 64, 32)),
    _matmul("triton_e4m3_wgmma", "sm_90", "fp8e4nv", "fp32", "fp32", (64, 64, 64)),
    _flash_attention("triton_flash_attention", "sm_80", (64, 32)),
    _flash_attention("triton_flash_attention_wgmma", "sm_90", (64, 64)),
    _norm("triton_layer_norm", "sm_80", "layer_norm", "fp16", {"BLOCK": 512}, 2),
    _norm("triton_layer_norm_f32", "sm_90", "layer_norm", "fp32", {"BLOCK": 256}, 4),
    _norm("triton_rms_norm", "sm_80", "rms_norm", "bf16", {"ONE_MORE": True, "BLOCK": 512}, 4),
    _norm("triton_rms_norm_f32", "sm_90", "rms_norm", "fp32", {"ONE_MORE": False, "BLOCK": 128}, 1),
    _norm("triton_gated_group_norm", "sm_90", "gated_group_norm", "fp16", {"GROUP": 32, "BLOCK": 8}, 4),
    _softmax("triton_softmax", ("columns", "x_stride", "out_stride")),
    _softmax("triton_softmax_ragged", ("rows",)),
)

TEXTS: dict[str, CudaText | TritonText] = {x.name: x for x in (*CUDA, *TRITON)}


def compiled(name: str) -> str:
    """Return the committed PTX of an example."""
    return (FOLDER / "compiled" / f"{name}.ptx").read_text(encoding="utf-8")


def source(name: str) -> str:
    """Its source."""
    return (FOLDER / TEXTS[name].file).read_text(encoding="utf-8")
