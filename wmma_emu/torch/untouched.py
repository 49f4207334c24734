# SPDX-License-Identifier: MIT
"""Operations with products that are not emulated, each with the reason: PyTorch computes them on the host."""

from collections.abc import Mapping

_VECTOR = "products with a vector run on the CUDA cores, in an order that is not known"
_FUSED = "a fused operation, whose products are not separate"
_SPARSE = "sparse products"
_BLOCKS = "block scales in the layout of tensor memory"
_QUANTISED = "products of PyTorch's quantised tensors"
_ATTENTION = "attention of this kind has no stated algorithm"

UNTOUCHED: Mapping[str, str] = {
    "mv": _VECTOR, "addmv": _VECTOR, "dot": _VECTOR, "vdot": _VECTOR, "ger": _VECTOR, "addr": _VECTOR,
    "_addmm_activation": _FUSED, "cudnn_convolution_relu": _FUSED, "cudnn_convolution_add_relu": _FUSED,
    "mkldnn_rnn_layer": _FUSED, "mkldnn_rnn_layer_backward": _FUSED, "_cudnn_rnn": _FUSED,
    "_cudnn_rnn_backward": _FUSED,
    "_transformer_encoder_layer_fwd": _FUSED, "_native_multi_head_attention": _FUSED, "_trilinear": _FUSED,
    "_cdist_forward": _FUSED, "_euclidean_dist": _FUSED, "linear_backward": _FUSED, "mkldnn_linear": _FUSED,
    "mkldnn_convolution": _FUSED, "cudnn_convolution": _FUSED, "cudnn_convolution_transpose": _FUSED,
    "convolution_overrideable": _FUSED, "_convolution": _FUSED, "_slow_conv2d_forward": _FUSED, "slow_conv3d": _FUSED,
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
    "linalg_lu_factor_ex": "linear algebra of cuSOLVER and MAGMA", "linalg_cholesky_ex": "linear algebra of cuSOLVER",
    "_fft_c2c": "transforms of cuFFT", "_fft_r2c": "transforms of cuFFT", "_fft_c2r": "transforms of cuFFT",
}  # fmt: skip
"""The reason for each operation of ATen. The log counts those that occurred."""

NOT_THIS_CALL = "a dtype, layout, device or option that has no rule"
"""The reason for a call of an emulated operation that is left to PyTorch."""
