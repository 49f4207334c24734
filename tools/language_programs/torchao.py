# SPDX-License-Identifier: MIT
"""Cases of torchao's Triton kernels, of the release's files. The package is imported whole."""

import importlib
import sys
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.tensors import drawn, far

TORCHAO = Project("torchao", "pytorch/ao", "v0.18.0", "BSD-3-Clause")

case = cases_of(TORCHAO)
_FP8_TRAINING = "torchao/prototype/blockwise_fp8_training/kernels.py"
_NO_COMPILE = "torchao/prototype/float8nocompile/kernels/fp8_dynamic_tensorwise.py"
_PROTOTYPE = "torchao/prototype"
_ATTENTION = f"{_PROTOTYPE}/attention/quantization"
_QKV = f"{_ATTENTION}/triton_qkv_quantization.py"


def torchao(name: str) -> ModuleType:
    folder = str(TORCHAO.folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(f"torchao.{name}")


def bfloat(*shape: int) -> Any:
    return drawn(*shape).bfloat16()


def blocks(x: Any, rows: int, columns: int) -> Any:
    """Repeat the elements of a matrix of scales, each for a block."""
    return x.repeat_interleave(rows, 0).repeat_interleave(columns, 1)


@case(
    "torchao/kernel/blockwise_quantization.py: blockwise_fp8_gemm_kernel _fp8_blockwise_act_quant_kernel_impl "
    "_fp8_blockwise_weight_quant_kernel_impl _fp8_blockwise_weight_dequant_kernel_impl"
)
def torchao_blockwise_quantization() -> float:
    module, x, w = torchao("kernel.blockwise_quantization"), drawn(48, 256), drawn(128, 256)
    (a, a_scales), (b, b_scales) = module.fp8_blockwise_act_quant(x), module.fp8_blockwise_weight_quant(w)
    exact_a, exact_b = a.double() * blocks(a_scales, 1, 128), b.double() * blocks(b_scales, 128, 128)
    product = module.blockwise_fp8_gemm(a, a_scales, b, b_scales)
    return far((product, exact_a @ exact_b.T), (module.fp8_blockwise_weight_dequant(b, b_scales), exact_b))


@case("torchao/kernel/bsr_triton_ops.py: _bsr_strided_addmm_kernel_impl")
def torchao_bsr_dense_addmm() -> float:
    import torch

    module, x = torchao("kernel.bsr_triton_ops"), drawn(64, 96).half()
    kept = torch.rand(4, 6, device="cuda") > 0.5
    x = x * blocks(kept, 16, 16)
    dense, given = drawn(96, 32).half(), drawn(64, 32).half()
    found = module.bsr_dense_addmm(given, x.to_sparse_bsr((16, 16)), dense)
    return far((found, given.double() + x.double() @ dense.double()))


@case("torchao/prototype/hqq/kernels.py: _mixed_mm_kernel")
def torchao_hqq_mixed_mm() -> float:
    import torch

    module = torchao("prototype.hqq.mixed_mm")
    w = torch.randint(0, 16, (128, 128), dtype=torch.uint8, device="cuda")
    scales, zeros, x = drawn(128, 2).half().T / 16, drawn(128, 2).half().T + 8, drawn(16, 128).half()
    exact = (w.double() - zeros.double().repeat_interleave(64, 0)) * scales.double().repeat_interleave(64, 0)
    return far((module.triton_mixed_mm(x, module.pack_2xint4(w), scales, zeros, group_size=64), x.double() @ exact))


@case("torchao/prototype/quantized_training/int8_mm.py: _scaled_int8_mm_kernel")
def torchao_scaled_int8_mm() -> float:
    import torch

    a, b = (torch.randint(-128, 128, x, dtype=torch.int8, device="cuda") for x in ((40, 96), (96, 72)))
    rows, columns = drawn(40), drawn(72)
    found = torchao("prototype.quantized_training.int8_mm").scaled_int8_mm(a, b, rows, columns)
    return far((found, (a.double() @ b.double()) * rows[:, None] * columns))


@case(
    f"{_FP8_TRAINING}: triton_fp8_blockwise_act_quant_lhs_kernel triton_fp8_blockwise_act_quant_rhs_kernel "
    "triton_fp8_blockwise_act_quant_transposed_lhs_kernel triton_fp8_blockwise_weight_quant_rhs_kernel"
)
def torchao_fp8_training_quantisation() -> float:
    module, x = torchao("prototype.blockwise_fp8_training.kernels"), bfloat(128, 256)
    by_rows, by_columns = module.torch_blockwise_scale_act_quant_lhs, module.torch_blockwise_scale_act_quant_rhs
    by_blocks = module.torch_blockwise_scale_weight_quant
    pairs = [
        (module.triton_fp8_blockwise_act_quant_lhs(x), by_rows(x)),
        (module.triton_fp8_blockwise_act_quant_rhs(x), by_columns(x)),
        (module.triton_fp8_blockwise_act_quant_transposed_lhs(x), by_rows(x.T.contiguous())),
        (module.triton_fp8_blockwise_weight_quant_rhs(x), by_blocks(x)),
    ]
    return far(*(pair for found, expected in pairs for pair in zip(found, expected, strict=True)))


@case(f"{_FP8_TRAINING}: triton_fp8_blockwise_weight_quant_transposed_rhs_kernel")
def torchao_fp8_training_transposed_weights() -> float:
    module, x = torchao("prototype.blockwise_fp8_training.kernels"), bfloat(128, 256)
    found = module.triton_fp8_blockwise_weight_quant_transposed_rhs(x)
    return far(*zip(found, module.torch_blockwise_scale_weight_quant(x.T.contiguous()), strict=True))


@case(f"{_FP8_TRAINING}: triton_fp8_gemm_1x128_128x128_kernel triton_fp8_gemm_1x128_128x1_kernel")
def torchao_fp8_training_gemm() -> float:
    module, x, w = torchao("prototype.blockwise_fp8_training.kernels"), bfloat(64, 256), bfloat(256, 128)
    a, a_scales = module.triton_fp8_blockwise_act_quant_lhs(x)
    b, b_scales = module.triton_fp8_blockwise_weight_quant_rhs(w)
    c, c_scales = module.triton_fp8_blockwise_act_quant_rhs(w)
    exact = a.double() * blocks(a_scales, 1, 128)
    weights, others = b.double() * blocks(b_scales, 128, 128), c.double() * blocks(c_scales, 128, 1)
    return far(
        (module.triton_fp8_gemm_1x128_128x128(a, b, a_scales, b_scales), exact @ weights),
        (module.triton_fp8_gemm_1x128_128x1(a, c, a_scales, c_scales), exact @ others),
    )


@case(
    "torchao/prototype/mx_formats/kernels.py: to_mxfp8_dim0_kernel to_mxfp8_dim1_kernel _dequant_mxfp8_kernel "
    "triton_scale_swizzle",
    arch="b200",
)
def torchao_mxfp8() -> float:
    import torch

    module, to_mx = torchao("prototype.mx_formats.kernels"), torchao("prototype.mx_formats.mx_tensor").to_mx
    mode = torchao("prototype.mx_formats.config").ScaleCalculationMode.RCEIL
    x = bfloat(128, 256)
    scales, expected = to_mx(x, torch.float8_e4m3fn, 32, scaling_mode=mode)
    data, found = module.triton_to_mxfp8_dim0(x)
    columns, theirs = module.triton_to_mxfp8_dim1(x), module.triton_to_mxfp8_dim1_reference(x)
    unpacked = module.triton_mxfp8_dequant_dim0(data, found.view(torch.uint8), torch.float32)
    exact = data.double() * found.double().repeat_interleave(32, 1)
    swizzled = module.triton_mx_block_rearrange(found).view(torch.uint8)
    order = found.view(torch.uint8).reshape(4, 32, 2, 4).permute(2, 1, 0, 3).reshape(128, 8)
    return far(
        (data, expected), (found, scales), (unpacked, exact), (columns[0], theirs[0]), (columns[1], theirs[1]),
        (swizzled, order),
    )  # fmt: skip


def _without_compiling(names: str, x: Any) -> float:
    """Return the distance of functions of two algorithms, which quantise with one scale for the whole tensor."""
    import torch

    module = torchao("prototype.float8nocompile.kernels.fp8_dynamic_tensorwise")
    config, kind = torchao("float8.float8_training_tensor").LinearMMConfig(), torch.float8_e4m3fn
    scale = torch.finfo(kind).max / x.double().abs().max()
    expected = (x.double() * scale.float()).clamp(-448, 448).to(kind)
    pairs = []
    for algorithm in module.KernelAlgorithm:
        for name in names.split():
            made = getattr(module, f"hp_to_fp8_{name}")(x, kind, config, algo=algorithm)
            for y in made if isinstance(made, tuple) else (made,):
                pairs += [(y._data if "_t" not in name else y._data.T, expected), (y._scale, scale)]
    return far(*pairs)


@case(
    f"{_NO_COMPILE}: _to_fp8_row_major _to_fp8_col_major _to_fp8_row_and_col_major _amax_atomic _scale_atomic "
    "_amax_reduction _scale_reduction"
)
def torchao_float8nocompile() -> float:
    return _without_compiling("row_major col_major col_major_t row_and_col_major", bfloat(64, 96))


@case(f"{_NO_COMPILE}: _to_fp8_row_major_t")
def torchao_float8nocompile_transposed() -> float:
    return _without_compiling("row_major_t", bfloat(64, 96))


@case(f"{_QKV}: single_phase1_kernel single_reduce_kernel group_reduce_kernel single_phase2_kernel")
def torchao_attention_quantisation() -> float:
    q, (k, v) = bfloat(1, 4, 64, 32), (bfloat(1, 2, 48, 32) for _ in range(2))
    made = torchao("prototype.attention.quantization.triton_qkv_quantization").triton_fp8_sdpa_quantize(q, k, v)
    return _dequantised(made, q, k, v)


def _dequantised(made: Any, *given: Any) -> float:
    """Return the distance of tensors of eight bits, which have a scale for some heads, relative to the largest."""
    pairs = []
    for data, scales, x in zip(made[:3], made[3:], given, strict=True):
        factors = scales.double().repeat_interleave(data.shape[1] // scales.shape[1], 1)[:, :, None, None]
        pairs.append((data.double() * factors / x.double().abs().max(), x.double() / x.double().abs().max()))
    return far(*pairs)


def _hadamard(x: Any) -> Any:
    """Return the normalised Walsh-Hadamard transform of the last dimension."""
    import torch

    matrix = torch.ones(1, 1, dtype=torch.float64)
    while len(matrix) < x.shape[-1]:
        matrix = torch.cat((torch.cat((matrix, matrix), 1), torch.cat((matrix, -matrix), 1)))
    return x.double() @ matrix / x.shape[-1] ** 0.5


@case(
    f"{_ATTENTION}/triton_hadamard_qkv_quantization.py: hadamard_single_phase1_kernel",
    f"{_ATTENTION}/triton_hadamard_utils.py: _inverse_hadamard_kernel",
)
def torchao_attention_hadamard() -> float:
    module = torchao("prototype.attention.quantization.triton_hadamard_qkv_quantization")
    inverse = torchao("prototype.attention.quantization.triton_hadamard_utils").inverse_hadamard_transform
    q, (k, v) = bfloat(1, 4, 64, 32), (bfloat(1, 2, 48, 32) for _ in range(2))
    turned = [_hadamard(x) for x in (q, k, v)]
    made = module.triton_fp8_hadamard_sdpa_quantize(q, k, v)
    return max(_dequantised(made, *turned), far((inverse(q), turned[0])))


@case(
    f"{_ATTENTION}/triton_rope_qkv_quantization.py: rope_single_phase1_kernel v_phase1_kernel single_reduce_kernel "
    "group_reduce_kernel rope_single_phase2_kernel v_phase2_kernel"
)
def torchao_attention_rope() -> float:
    import torch

    module = torchao("prototype.attention.quantization.triton_rope_qkv_quantization")
    q, (k, v), angles = bfloat(1, 48, 4, 32), (bfloat(1, 48, 2, 32) for _ in range(2)), drawn(48, 16).repeat(1, 2)
    cos, sin = angles.cos(), angles.sin()

    def turned(x: Any) -> Any:
        x = x.double().transpose(1, 2)
        return x * cos + torch.cat((-x[..., 16:], x[..., :16]), -1) * sin

    made = module.triton_fp8_rope_sdpa_quantize(q, k, v, cos, sin)
    return _dequantised(made, turned(q), turned(k), v.transpose(1, 2))


@case(
    "torchao/prototype/fp8_sdpa_inference/fp8_sdpa_quantization.py: qkv_phase1_kernel qkv_reduce_kernel "
    "qkv_phase2_kernel q_phase1_kernel q_reduce_kernel q_phase2_kernel kv_phase1_kernel kv_reduce_kernel "
    "kv_phase2_kernel"
)
def torchao_fp8_sdpa_inference() -> float:
    quantised = torchao("prototype.fp8_sdpa_inference.fp8_sdpa_quantization").fp8_sdpa_quantize_func
    q, long = bfloat(1, 2, 48, 32), bfloat(1, 2, 64, 32)
    k, v = bfloat(1, 2, 48, 32), bfloat(1, 2, 48, 32)
    return max(_dequantised(quantised(q, k, v), q, k, v), _dequantised(quantised(long, k, v), long, k, v))
