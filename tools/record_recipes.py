# SPDX-License-Identifier: MIT
"""Record the scales, elements and random roundings of training libraries, from their own sources.

    python -m tools.record_recipes --transformer-engine DIR --deepgemm DIR --out tests/quantise/recipes.npz

DIR are clones of NVIDIA/TransformerEngine (Apache 2.0) and deepseek-ai/DeepGEMM (MIT); torchao (BSD 3-Clause) is
installed. Their Python code runs on the processor, and on a GPU if there is one; device functions of Transformer Engine
are compiled with nvcc and run on the GPU. ``--device-results`` merges a file that ``--out`` wrote on a GPU.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import types
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np

EVERY = 8
"""The distance between the elements that are kept."""

STEPS = np.array([3, 0.7, 0, 12.5, np.inf, 0.1, 1e-44, 0, 5, np.nan, 2, 0.25, 0.25, 0.25, 0.25, 100, 1], np.float32)
"""The largest magnitudes of the steps of delayed scaling."""

HISTORIES = list(product((1, 3, 300), ("most_recent", "max"), (0, 3)))

_COMMON = "transformer_engine/common/"
_DEVICE_CODE = (
    (_COMMON + "recipe/recipe_common.cuh", r"^__device__ __forceinline__ float compute_scale_from_amax.*?^}"),
    (_COMMON + "recipe/delayed_scaling.cu", r"^enum class AmaxComputeAlgo.*?;"),
    (_COMMON + "recipe/delayed_scaling.cu", r"^struct AmaxParam {.*?^};"),
    (_COMMON + "recipe/delayed_scaling.cu", r"^struct OtherParams {.*?^};"),
    (_COMMON + "recipe/delayed_scaling.cu", r"^struct AmaxParams {.*?^};"),
    (_COMMON + "recipe/delayed_scaling.cu", r"^namespace amax_and_scale_update_impl {.*?^}  // namespace"),
    (_COMMON + "util/ptx.cuh", r"^__device__ __forceinline__ float stochastic_round_fp4_e2m1.*?^}"),
    (_COMMON + "util/ptx_arch_spec.cuh", r"^__device__ __forceinline__ e8m0_t float_to_e8m0.*?^}"),
    (_COMMON + "recipe/nvfp4.cu", r"^__global__ void compute_nvfp4_per_tensor_scale_kernel.*?^}"),
)
"""The functions of Transformer Engine that run on the GPU: a file, and the text of the function."""


def magnitudes():
    """Return largest magnitudes: special ones, next to the boundaries of rules, and of all exponents."""
    random = np.random.RandomState(41)
    special = "0 1e-45 1e-40 1.1754944e-38 2e-38 1e-12 0.99e-12 1e-4 0.5e-4 448 57344 3.4028235e38 inf nan".split()
    ends = np.ldexp(np.array([1, 1.75, 1.5, 1.25])[:, None], np.arange(-126, 127, 9)).astype(np.float32).ravel()
    near = (ends.view(np.uint32)[:, None] + np.arange(-3, 4).astype(np.uint32)).view(np.float32).ravel()
    wide = np.ldexp(random.uniform(1, 2, 400), random.randint(-130, 127, 400)).astype(np.float32)
    return np.concatenate([np.array(special, np.float32), near, wide])[:1200]


def matrix():
    """Return a matrix of bfloat16 whose lines have different magnitudes, with zeros, with incomplete blocks of 128."""
    random = np.random.RandomState(42)
    x = random.standard_normal((160, 160)) * np.exp2(random.randint(-12, 4, (1, 160)))
    x = x * np.exp2(random.randint(-3, 3, (160, 1)))
    x[3], x[:, 7] = 0, 0
    return x.astype(np.float32).astype(ml_dtypes.bfloat16)


def exact_matrix():
    """Return a matrix of bfloat16 in which sums of 16 numbers are exact in float32; without -0."""
    whole = np.clip(np.round(matrix().astype(np.float32) * 8), -64, 64)
    return (whole + np.float32(0)).astype(ml_dtypes.bfloat16)


def stochastic_inputs():
    """Return numbers around the elements of e2m1, and random bits."""
    random = np.random.RandomState(43)
    grid = np.array([0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8], np.float32)
    near = (grid.view(np.uint32)[:, None] + np.arange(-2, 3).astype(np.uint32)).view(np.float32).ravel()
    special = np.array([np.inf, np.nan, 0, 1e-38, 3e38], np.float32)
    x = np.concatenate([near, random.uniform(0, 7, 240).astype(np.float32), special])
    x = np.tile(np.concatenate([x, -x]), 3)
    return x, random.randint(0, 256, len(x)).astype(np.uint8)


def _module(name, path, **replaced):
    """Import a file, with parts of its source replaced."""
    source = path.read_text(encoding="utf-8")
    for old, new in replaced.items():
        source = re.sub(_PATTERNS[old], new, source)
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), vars(module))
    return module


_PATTERNS = {
    "calculation": r"from references\.quantize_scale_calc",
    "package": r"from transformer_engine\.pytorch\.custom_recipes import \w+",
    "storage": r"from transformer_engine\.pytorch\.quantized_tensor import.*",
    "types": r"        (m_params: gemm|gemm_type: gemm).*\n",
}

_QUANTIZER = """
class QuantizedTensorStorage: pass
class Quantizer:
    def __init__(self, rowwise, columnwise): self.rowwise_usage, self.columnwise_usage = rowwise, columnwise
reference_utils = __import__("reference_utils")
"""


def _words(array):
    """Return float32 numbers as words, in which every NaN is the same."""
    return np.where(np.isnan(array), np.float32(np.nan), array).view(np.uint32)


def record(transformer_engine, deepgemm, device):
    """Return what the libraries' Python code computes on a device."""
    import torch
    from torchao.float8 import float8_utils as ao
    from torchao.prototype.blockwise_fp8_training import kernels

    found = {}
    amax = torch.from_numpy(magnitudes()).to(device)
    x = torch.from_numpy(matrix().view(np.int16)).view(torch.bfloat16).to(device)

    def keep(name, tensor):
        tensor = tensor.detach().cpu().contiguous()
        is_narrow = tensor.element_size() == 1
        array = tensor.view(torch.uint8).numpy() if is_narrow else _words(tensor.float().numpy())
        found[name] = array.ravel()[::EVERY] if "elements" in name else array

    elements = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    rows = {"scaling_granularity": ao.ScalingGranularity.AXISWISE, "axiswise_dim": -1}
    for name, dtype in elements.items():
        for powers in (False, True):
            key = f"{name} {powers}"
            keep(f"torchao factors {key}", ao.amax_to_scale(amax, dtype, powers))
            for granularity, options in (("tensor", {}), ("row", rows)):
                scale = ao.tensor_to_scale(x, dtype, round_scales_to_power_of_2=powers, **options)
                keep(f"torchao {granularity} scales {key}", scale.reciprocal())
                keep(f"torchao {granularity} elements {key}", ao.to_fp8_saturated(x.float() * scale, dtype))
    square = x[:128, :128].contiguous()
    for granularity, quantise in (
        ("vector", kernels.torch_blockwise_scale_act_quant_lhs), ("block", kernels.torch_blockwise_scale_weight_quant),
    ):  # fmt: skip
        values, scales = quantise(square)
        keep(f"torchao {granularity} scales e4m3 False", scales)
        keep(f"torchao {granularity} elements e4m3 False", values)
    math = _module("deepgemm_math", deepgemm / "deep_gemm/utils/math.py")
    finite = amax[torch.isfinite(amax) & (amax < 1e38)][:, None]
    for powers in (False, True):
        for granularity, cast, given in (
            ("vector", math.per_token_cast_to_fp8, x), ("block", math.per_block_cast_to_fp8, x),
            ("amax", math.per_token_cast_to_fp8, finite),
        ):  # fmt: skip
            values, scales = cast(given, powers)
            keep(f"deepgemm {granularity} elements e4m3 {powers}", values)
            keep(f"deepgemm {granularity} scales e4m3 {powers}", scales)
    found |= _transformer_engine(transformer_engine, device, keep, x, elements) or {}
    return found


def _transformer_engine(folder, device, keep, x, elements):
    import torch

    references, recipes = folder / "tests/pytorch/references", folder / "transformer_engine/pytorch/custom_recipes"
    _module("quantize_scale_calc", references / "quantize_scale_calc.py")
    blocks = _module(
        "blockwise", references / "blockwise_quantizer_reference.py", calculation="from quantize_scale_calc"
    )  # fmt: skip
    _module("reference_utils", recipes / "reference_utils.py")
    fp4 = _module(
        "reference_nvfp4", recipes / "reference_nvfp4.py", package="", storage=_QUANTIZER,
        types=lambda found: "        m_params,\n" if "m_params" in found[0] else "        gemm_type=None,\n",
    )  # fmt: skip
    if device == "cpu":
        reference = blocks.BlockwiseQuantizerReference()
        for name, dtype in elements.items():
            for powers in (False, True):
                for granularity, tile in (("vector", (1, 128)), ("block", (128, 128))):
                    made = reference.quantize(
                        x, dtype, return_transpose=True, pow_2_scales=powers, quant_tile_shape=tile,
                        munge_scale_shapes=False,
                    )  # fmt: skip
                    for what in ("", "_t"):
                        key = f"transformer_engine {granularity}{what}"
                        keep(f"{key} elements {name} {powers}", getattr(made, "data" + what))
                        keep(f"{key} scales {name} {powers}", getattr(made, "scale" + what))
    y = torch.from_numpy(exact_matrix().view(np.int16)).view(torch.bfloat16).to(device)
    formats = sys.modules["reference_utils"].Fp4Formats
    for name, tile, rotates in (("lines", (1, 16), False), ("squares", (16, 16), False), ("rotated", (1, 16), True)):
        made = fp4.NVFP4QuantizerRef(formats.E2M1, quant_tile_shape=tile, with_rht=rotates).quantize(y)
        for what in ("", "_t"):
            keep(f"nvfp4 {name}{what} elements", getattr(made, "data" + what))
            keep(f"nvfp4 {name}{what} scales", getattr(made, "scale" + what))
        keep(f"nvfp4 {name} amax", torch.stack([made.global_amax_row, made.global_amax_col]))


def device_source(folder):
    """Return the C++ code of Transformer Engine that the GPU runs, without what it does not need."""
    texts = []
    for path, pattern in _DEVICE_CODE:
        found = re.search(pattern, (folder / path).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if found is None:
            raise SystemExit(f"{path} has no {pattern}")
        texts.append(found[0])
    texts.insert(4, "constexpr size_t AMAX_PARAMS_LIMIT = 16;")
    return "\n".join(texts)


def record_device(folder):
    """Compile the device functions, run them on the GPU, and return their results."""
    x, random_bits = stochastic_inputs()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        (room / "transformer_engine.cuh").write_text(device_source(folder), encoding="utf-8")
        given = {"amax": magnitudes(), "x": x, "random": random_bits.astype(np.uint32), "steps": STEPS}
        for key, array in given.items():
            array.tofile(room / f"{key}.bin")
        main = Path(__file__).with_suffix(".cu")
        options = ["-arch=native", "--expt-relaxed-constexpr", f"-I{room}"]
        subprocess.run(["nvcc", *options, "-o", str(room / "record"), str(main)], check=True)
        subprocess.run([str(room / "record")], cwd=room, check=True)
        return device_results(room)


def device_results(room):
    """Read the files of record_recipes.cu."""
    found = {}
    for path in room.glob("device *.bin"):
        found[path.stem] = np.fromfile(path, np.uint8 if "powers" in path.stem else np.uint32)
    return found


def main():
    """Record on the processor, and what differs on the GPU if there is one."""
    import torch
    import torchao

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transformer-engine", type=Path, required=True)
    parser.add_argument("--deepgemm", type=Path, required=True)
    parser.add_argument("--device-results", type=Path, help="a file that this tool wrote on a GPU")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = record(given.transformer_engine, given.deepgemm, "cpu")
    notes = [f"Transformer Engine {(given.transformer_engine / 'build_tools/VERSION.txt').read_text().strip()}"]
    notes.append(f"torchao {torchao.__version__}, PyTorch {torch.__version__} on the processor")
    if torch.cuda.is_available():
        other = record(given.transformer_engine, given.deepgemm, "cuda")
        found |= {f"cuda {key}": other[key] for key in other if (found[key] != other[key]).any()}
        found |= record_device(given.transformer_engine)
        notes.append(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    elif given.device_results:
        with np.load(given.device_results) as file:
            found |= {key: file[key] for key in file if key.startswith(("cuda ", "device "))}
            notes.append(str(file["versions"]))
    np.savez_compressed(given.out, versions=np.array("; ".join(notes)), **found)
    print(notes, given.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
