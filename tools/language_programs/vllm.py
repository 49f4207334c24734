# SPDX-License-Identifier: MIT
"""Cases of vLLM's Triton kernels, of the release's files, without its compiled code.

An empty module stands for ``vllm._C_stable_libtorch``, and vLLM's platform is set, because vLLM looks for NVIDIA's
library of management.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import bare_package
from tools.language_programs.sglang import attention, half, int32
from tools.language_programs.tensors import drawn, far

VLLM = Project("vllm", "vllm-project/vllm", "v0.33.0", "Apache-2.0")

case = cases_of(VLLM)
_ATTENTION = "vllm/v1/attention/ops"
_LAYERS = "vllm/model_executor/layers"


def vllm(name: str) -> ModuleType:
    """Import a module, after vLLM's platform has been set."""
    folder, code = str(VLLM.folder), "vllm._C_stable_libtorch"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if code not in sys.modules:
        sys.modules[code] = ModuleType(code)
        platforms = importlib.import_module("vllm.platforms")
        platforms.current_platform = importlib.import_module("vllm.platforms.cuda").NonNvmlCudaPlatform()
    return importlib.import_module(f"vllm.{name}")


def paged(rows: Any, table: Any) -> Any:
    """Return the rows of a cache of pages that a table of pages names."""
    return rows[table.long()].flatten(0, 1)


@case(f"{_ATTENTION}/triton_unified_attention.py: kernel_unified_attention reduce_segments")
def vllm_unified_attention() -> float:
    module, k, v = vllm("v1.attention.ops.triton_unified_attention"), half(8, 16, 2, 64), half(8, 16, 2, 64)
    table, lengths, pairs = int32(3, 1, 6, 0, 2, 5).reshape(2, 3), int32(45, 30), []

    def found(q: Any, starts: Any, longest: int, **more: Any) -> Any:
        out = q.new_empty(q.shape)
        module.unified_attention(
            q, k, v, out, starts, longest, lengths, 45, 1 / 8, True, (-1, -1), table, 0, None, None, None, **more
        )
        return out

    q = half(30, 4, 64)
    out = found(q, int32(0, 20, 30), 20)
    segments = {
        "seq_threshold_3D": 4, "num_par_softmax_segments": 4, "softmax_segm_output": drawn(2, 4, 4, 64),
        "softmax_segm_max": drawn(2, 4, 4), "softmax_segm_expsum": drawn(2, 4, 4),
    }  # fmt: skip
    single = found(q[:2].contiguous(), int32(0, 1, 2), 1, **segments)
    for i, part in enumerate((slice(0, 20), slice(20, 30))):
        keys, values = (paged(x, table[i])[: int(lengths[i])] for x in (k, v))
        pairs.append((out[part], attention(q[part], keys, values, True)))
        pairs.append((single[i : i + 1], attention(q[i : i + 1], keys, values)))
    return far(*pairs)


@case(f"{_ATTENTION}/triton_decode_attention.py: _fwd_kernel_stage1 _fwd_grouped_kernel_stage1 _fwd_kernel_stage2")
def vllm_decode_attention() -> float:
    module, pairs = vllm("v1.attention.ops.triton_decode_attention"), []
    table, lengths = int32(3, 1, 6, 0, 2, 5).reshape(2, 3), int32(45, 30)
    for heads in (2, 4):
        q, k, v, out, lse = half(2, 4, 64), half(8, 16, heads, 64), half(8, 16, heads, 64), half(2, 4, 64), drawn(2, 4)
        module.decode_attention_fwd(q, k, v, out, lse, table, lengths, drawn(2, 4, 4, 65), 4, 1 / 8, 16)
        for i in range(2):
            keys, values = (paged(x, table[i])[: int(lengths[i])] for x in (k, v))
            pairs.append((out[i : i + 1], attention(q[i : i + 1], keys, values)))
    return far(*pairs)


@case(f"{_ATTENTION}/triton_prefill_attention.py: _fwd_kernel")
def vllm_prefill_attention() -> float:
    q, k, v, out = half(70, 4, 64), half(70, 2, 64), half(70, 2, 64), half(70, 4, 64)
    vllm("v1.attention.ops.triton_prefill_attention").context_attention_fwd(
        q, k, v, out, int32(0, 30), int32(30, 40), 40
    )
    return far(*((out[x], attention(q[x], k[x], v[x], True)) for x in (slice(0, 30), slice(30, 70))))


@case(f"{_ATTENTION}/prefix_prefill.py: _fwd_kernel")
def vllm_prefix_prefill() -> float:
    import torch

    q, k, v, out = half(40, 4, 64), half(40, 2, 64), half(40, 2, 64), half(40, 4, 64)
    keys, values, table = half(8, 2, 8, 16, 8), half(8, 2, 64, 16), int32(3, 1, 6, 0, 2, 5).reshape(2, 3)
    one = torch.ones(1, device="cuda")
    vllm("v1.attention.ops.prefix_prefill").context_attention_fwd(
        q, k, v, out, "auto", keys, values, table, int32(0, 15, 40), int32(35, 55), 55, 25, one, one
    )
    old_k, old_v = keys.permute(0, 3, 1, 2, 4).flatten(3), values.permute(0, 3, 1, 2)
    pairs = []
    for i, (part, before) in enumerate(((slice(0, 15), 20), (slice(15, 40), 30))):
        both = [torch.cat((paged(x, table[i])[:before], y[part])) for x, y in ((old_k, k), (old_v, v))]
        pairs.append((out[part], attention(q[part], *both, True)))
    return far(*pairs)


@case(f"{_ATTENTION}/triton_merge_attn_states.py: merge_attn_states_kernel")
def vllm_merge_attention_states() -> float:
    import torch

    a, b, of_a, of_b = drawn(9, 4, 48), drawn(9, 4, 48), drawn(4, 9), drawn(4, 9)
    out, lse = drawn(9, 4, 48), drawn(4, 9)
    vllm("v1.attention.ops.triton_merge_attn_states").merge_attn_states(out, a, of_a, b, of_b, lse)
    both = torch.logaddexp(of_a.double(), of_b.double())
    expected = a * (of_a - both).exp().T[..., None] + b * (of_b - both).exp().T[..., None]
    return far((out, expected), (lse, both))


@case(f"{_ATTENTION}/triton_reshape_and_cache_flash.py: reshape_and_cache_kernel_flash")
def vllm_reshape_and_cache() -> float:
    import torch

    k, v, one = half(20, 2, 64), half(20, 2, 64), torch.ones(1, device="cuda")
    keys, values, slots = half(4, 16, 2, 64), half(4, 16, 2, 64), torch.randperm(64)[:20]
    expected = [x.clone().flatten(0, 1).index_copy(0, slots, y).reshape(x.shape) for x, y in ((keys, k), (values, v))]
    module = vllm("v1.attention.ops.triton_reshape_and_cache_flash")
    bare_package("vllm.config", VLLM.folder)  # the rest of it imports the server
    module.triton_reshape_and_cache_flash(k, v, keys, values, slots, "auto", one, one)
    return far(*zip((keys, values), expected, strict=True))


@case("vllm/v1/sample/ops/topk_topp_triton.py: _topk_topp_kernel")
def vllm_top_k_top_p() -> float:
    import torch

    logits, k, p = drawn(8, 3000), int32(*range(5, 45, 5)), torch.linspace(0.3, 0.9, 8)
    largest = logits.double().topk(40, -1)
    kept = torch.zeros(8, 3000, dtype=torch.bool)
    for i in range(8):
        chosen, places = largest.values[i, : k[i]], largest.indices[i, : k[i]]
        before = chosen.softmax(0).cumsum(0) - chosen.softmax(0)
        kept[i, places[before < p[i].double()]] = True
    found = vllm("v1.sample.ops.topk_topp_triton").apply_top_k_top_p_triton(logits.clone(), k, p)
    return far((found.exp(), torch.where(kept, logits, float("-inf")).exp()))


@case(
    "vllm/lora/ops/triton_ops/lora_shrink_op.py: _lora_shrink_kernel",
    "vllm/lora/ops/triton_ops/lora_expand_op.py: _lora_expand_kernel",
)
def vllm_lora() -> float:
    import torch

    module, x, a, b = vllm("lora.ops.triton_ops"), half(40, 128), half(3, 16, 128) / 8, half(3, 96, 16)
    chosen = torch.randint(0, 3, (40,), dtype=torch.int32, device="cuda")
    meta = module.LoRAKernelMeta.make(max_loras=3, max_num_tokens=64, device="cuda")
    meta.prepare_tensors(chosen)
    small, large = torch.zeros(1, 40, 16, device="cuda"), torch.zeros(40, 96, dtype=torch.float16, device="cuda")
    module.lora_shrink(x, [a], small, *meta.meta_args(40, False), 0.5)
    module.lora_expand(small, [b], large, *meta.meta_args(40, False), 0, True)
    shrunk = torch.stack([x[i].double() @ a[chosen[i]].double().T * 0.5 for i in range(40)])
    expanded = torch.stack([small[0, i].half().double() @ b[chosen[i]].double().T for i in range(40)])
    return far((small[0], shrunk), (large, expanded))


@case(f"{_LAYERS}/quantization/awq_triton.py: awq_dequantize_kernel awq_gemm_kernel")
def vllm_awq() -> float:
    import torch

    module, x, scales = vllm("model_executor.layers.quantization.awq_triton"), half(20, 128), half(2, 64) / 8
    w, zeros = (torch.randint(-(1 << 31), 1 << 31, (y, 8), dtype=torch.int64).int() for y in (128, 2))
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7]) * 4
    plain, points = ((y[..., None] >> order & 15).reshape(len(y), -1) for y in (w, zeros))
    exact = (plain - points.repeat_interleave(64, 0)) * scales.double().repeat_interleave(64, 0)
    return far(
        (module.awq_dequantize_triton(w, scales, zeros), exact),
        (module.awq_gemm_triton(x, w, scales, zeros, 2), x.double() @ exact),
    )


@case(f"{_LAYERS}/quantization/compressed_tensors/triton_scaled_mm.py: scaled_mm_kernel")
def vllm_scaled_mm() -> float:
    import torch

    module = vllm("model_executor.layers.quantization.compressed_tensors.triton_scaled_mm")
    a, b = (torch.randint(-128, 128, x, dtype=torch.int8, device="cuda") for x in ((40, 96), (72, 96)))
    rows, columns, bias = drawn(40, 1), drawn(72, 1), drawn(72)
    found = module.triton_scaled_mm(a, b.T, rows, columns, torch.float32, bias)
    return far((found, (a.double() @ b.double().T) * rows * columns.T + bias))


_SHARED_MEMORY = "get_max_shared_memory_per_block_device_attribute"
"""A function of vLLM's compiled code."""

_INVARIANT = "vllm/model_executor/determinism/batch_invariant.py"


@case(f"{_INVARIANT}: matmul_kernel_persistent bmm_kernel _softmax_kernel mean_kernel _rms_norm_kernel")
def vllm_batch_invariant_operators() -> float:
    import torch

    module = vllm("model_executor.determinism.batch_invariant")
    utilities = torch.library.Library("_C_cuda_utils", "FRAGMENT")
    utilities.define(f"{_SHARED_MEMORY}(int device) -> int")
    bytes_of_a_block = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    utilities.impl(_SHARED_MEMORY, lambda device: bytes_of_a_block, "CompositeExplicitAutograd")
    a, b, x, w = half(70, 96), half(96, 50), drawn(9, 300), drawn(300)
    left, right = half(3, 40, 32), half(3, 32, 24)
    return far(
        (module.matmul_persistent(a, b), a.double() @ b.double()),
        (module.bmm_batch_invariant(left, right), left.double() @ right.double()),
        (module.log_softmax(x), x.double().log_softmax(-1)), (module.softmax(x), x.double().softmax(-1)),
        (module.mean_dim(x, 1), x.double().mean(1)),
        (module.rms_norm_batch_invariant(x, w), torch.nn.functional.rms_norm(x, [300], w, 1e-6)),
    )  # fmt: skip


@case("vllm/kernels/triton/activation.py: _gelu_and_mul_sparse_kernel")
def vllm_gelu_and_mul_sparse() -> float:
    import torch

    x = drawn(9, 512)
    gate, up = x[:, :256].double(), x[:, 256:].double()
    cut = gate.mean(1, keepdim=True) + 0.5 * gate.std(1, keepdim=True, unbiased=False)
    expected = torch.nn.functional.gelu((gate - cut).relu(), approximate="tanh") * up
    return far((vllm("kernels.triton.activation")._gelu_and_mul_sparse_triton_op(x, 0.5), expected))


@case(f"{_LAYERS}/mamba/ops/layernorm_gated.py: _layer_norm_fwd_1pass_kernel")
def vllm_gated_norm() -> float:
    import torch

    x, z, w = drawn(9, 128), drawn(9, 128), drawn(128)
    found = vllm("model_executor.layers.mamba.ops.layernorm_gated").rms_norm_gated(x, w, None, z)
    return far((found, torch.nn.functional.rms_norm(x, [128], w, 1e-6) * torch.nn.functional.silu(z)))
