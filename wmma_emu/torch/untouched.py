# SPDX-License-Identifier: MIT
"""Operations with products that are not emulated, each with the reason: PyTorch computes them on the host."""

from collections.abc import Mapping

_VECTOR = "products with a vector run on the CUDA cores, in an order that is not known"
_FUSED = "a fused operation, whose products are not separate"
_SPARSE = "sparse products"
_BLOCKS = "block scales in the layout of tensor memory"
_QUANTISED = "products of PyTorch's quantised tensors"
_ATTENTION = "attention of this kind has no stated algorithm"
_ALGEBRA = "linear algebra of cuSOLVER and MAGMA"
_OTHERS = "an operation of another device"
_CUSTOM = "a custom operation, whose products are not seen"

UNTOUCHED: Mapping[str, str] = {
    "mv": _VECTOR, "addmv": _VECTOR, "dot": _VECTOR, "vdot": _VECTOR, "ger": _VECTOR, "addr": _VECTOR,
    "_addmm_activation": _FUSED, "cudnn_convolution_relu": _FUSED, "cudnn_convolution_add_relu": _FUSED,
    "mkldnn_rnn_layer": _FUSED, "mkldnn_rnn_layer_backward": _FUSED, "_cudnn_rnn": _FUSED,
    "_cudnn_rnn_backward": _FUSED,
    "_transformer_encoder_layer_fwd": _FUSED, "_native_multi_head_attention": _FUSED, "_trilinear": _FUSED,
    "_cdist_forward": _FUSED, "_euclidean_dist": _FUSED, "linear_backward": _FUSED, "mkldnn_linear": _FUSED,
    "mkldnn_convolution": _FUSED, "cudnn_convolution": _FUSED, "cudnn_convolution_transpose": _FUSED,
    "convolution_overrideable": _FUSED, "convolution_backward_overrideable": _FUSED, "_convolution": _FUSED,
    "conv_tbc": _FUSED, "_foreach_mm": _FUSED,
    "_cdist_backward": _FUSED, "_pdist_forward": _FUSED, "_pdist_backward": _FUSED,
    "_triton_multi_head_attention": _FUSED, "_triton_scaled_dot_attention": _FUSED,
    "_sparse_sparse_matmul": _SPARSE, "_sparse_mm_reduce_impl": _SPARSE, "_sparse_mm_reduce_impl_backward": _SPARSE,
    "hspmm": _SPARSE, "sspaddmm": _SPARSE, "_spsolve": _SPARSE,
    "_sparse_addmm": _SPARSE, "sparse_sampled_addmm": _SPARSE, "_sparse_mm": _SPARSE, "_cslt_sparse_mm": _SPARSE,
    "_sparse_semi_structured_mm": _SPARSE, "_sparse_semi_structured_addmm": _SPARSE,
    "_sparse_semi_structured_linear": _SPARSE,
    "_scaled_mm_v2": _BLOCKS, "_scaled_grouped_mm_v2": _BLOCKS,
    "_weight_int8pack_mm": _QUANTISED, "_weight_int4pack_mm": _QUANTISED, "_dyn_quant_matmul_4bit": _QUANTISED,
    "_scaled_dot_product_fused_attention_overrideable": _ATTENTION,
    "_scaled_dot_product_fused_attention_overrideable_backward": _ATTENTION,
    "_flash_attention_forward": _ATTENTION, "_flash_attention_backward": _ATTENTION,
    "_efficient_attention_forward": _ATTENTION, "_efficient_attention_backward": _ATTENTION,
    "flex_attention": _ATTENTION, "flex_attention_backward": _ATTENTION,
    "cholesky": _ALGEBRA, "cholesky_inverse": _ALGEBRA, "_cholesky_solve_helper": _ALGEBRA, "cholesky_solve": _ALGEBRA,
    "geqrf": _ALGEBRA, "ormqr": _ALGEBRA, "triangular_solve": _ALGEBRA, "_compute_linear_combination": _ALGEBRA,
}  # fmt: skip
"""The reason for each operation of ATen. The log counts those that occurred."""

UNTOUCHED_FAMILIES: Mapping[str, str] = {
    "linalg_": _ALGEBRA, "_linalg_": _ALGEBRA, "_fft_": "transforms of cuFFT",
    "slow_conv": _FUSED, "_slow_conv": _FUSED, "conv_depthwise": _FUSED, "_conv_depthwise": _FUSED,
    "_nnpack_": _FUSED, "mkldnn_linear": _FUSED, "_flash_attention_": _ATTENTION, "_cudnn_attention_": _ATTENTION,
    "_weight_int": _QUANTISED, "_dyn_quant_": _QUANTISED, "_mixed_dtypes_linear": _QUANTISED,
    "quantized_": _QUANTISED, "quantized::": _QUANTISED, "onednn::": _QUANTISED, "mkl::": _FUSED, "mkldnn::": _FUSED,
    "miopen_": _OTHERS, "mps_": _OTHERS, "_mps_": _OTHERS, "_lstm_mps": _OTHERS, "lstm_mps": _OTHERS,
    "_scaled_dot_product_attention_math_for_mps": _OTHERS,
}  # fmt: skip
"""The reason for operations whose names begin so. A few of them, such as norms of vectors, have no products."""

_PYTORCHS = frozenset({"aten", "prims", "rngprims", "debugprims", "profiler", "c10d", "_c10d_functional"})
"""Namespaces without products; those of ATen have the names above."""

_WITHOUT_PRODUCTS = ("norm", "check_errors", "_powsum", "cross", "diagonal")


def reason_of(name: str) -> str:
    """Return why an operation is computed by PyTorch; an empty string for operations without products.

    Examples
    --------
    >>> reason_of("linalg_qr")
    'linear algebra of cuSOLVER and MAGMA'
    >>> reason_of("linalg_vector_norm"), reason_of("add")
    ('', '')
    """
    if name in UNTOUCHED:
        return UNTOUCHED[name]
    if name.endswith(_WITHOUT_PRODUCTS):
        return ""
    found = next((reason for family, reason in UNTOUCHED_FAMILIES.items() if name.startswith(family)), "")
    return found or (_CUSTOM if "::" in name and name.partition("::")[0] not in _PYTORCHS else "")


NOT_THIS_CALL = "a dtype, layout, device or option that has no rule"
"""The reason for a call of an emulated operation that is left to PyTorch."""
