# SPDX-License-Identifier: MIT
"""The table of recipes: Transformer Engine's, torchao's, and DeepSeek's, by DeepGEMM."""

from functools import partial

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.evidence import Evidence
from wmma_emu.models.recipes.spec import Cast, QuantisedProduct, Recipe
from wmma_emu.suggestions import did_you_mean

_documented = partial(Evidence, "documented")
_recorded = partial(Evidence, "recorded", covers=frozenset({"bfloat16", "float32"}))

_TE = "NVIDIA Transformer Engine 2.20.0.dev0 (d0067d0), common/recipe/__init__.py, "
_AO = "torchao 0.18.0, "
_H200 = "; a training step recorded on an NVIDIA H200 with PyTorch 2.11.0+cu130, 2026-11-28"

_TE_FP8 = partial(Cast, rule="transformer_engine")
_TE_DELAYED = partial(_TE_FP8, is_delayed=True)
_POWERS = partial(_TE_FP8, "e4m3", powers_of_two=True)
_AO_FP8 = partial(Cast, rule="torchao")
_AO_ROW = _AO_FP8("e4m3", granularity="row", powers_of_two=True)
_MX = Cast("mxfp8_e4m3", "rceil")
_NVFP4 = partial(Cast, "nvfp4", "transformer_engine")
_WEIGHT_FP4, _INPUT_FP4 = _NVFP4(is_square=True), _NVFP4(is_rotated=True)
_GRADIENT_FP4 = _NVFP4(is_stochastic=True)


def _layer(
    x: Cast, weight: Cast, gradient: Cast, fast_forward: bool = False
) -> tuple[QuantisedProduct, QuantisedProduct, QuantisedProduct]:
    """Return the three products of tensors that are cast alike in all of them."""
    forward = QuantisedProduct(x, weight, not fast_forward)
    return forward, QuantisedProduct(gradient, weight), QuantisedProduct(gradient, x)


def _by_blocks(activation: Cast, weight: Cast) -> tuple[QuantisedProduct, QuantisedProduct, QuantisedProduct]:
    return _layer(activation, weight, activation)


_FP4 = (
    QuantisedProduct(_NVFP4(), _WEIGHT_FP4),
    QuantisedProduct(_GRADIENT_FP4, _WEIGHT_FP4),
    QuantisedProduct(_NVFP4(is_rotated=True, is_stochastic=True), _INPUT_FP4),
)

_ROWS = (
    Recipe(
        "te_delayed", *_layer(_TE_DELAYED("e4m3"), _TE_DELAYED("e4m3"), _TE_DELAYED("e5m2"), fast_forward=True),
        _documented(_TE + "DelayedScaling; pytorch/module/base.py, _2X_ACC_FPROP"),
    ),
    Recipe(
        "te_current", *_layer(_TE_FP8("e4m3"), _TE_FP8("e4m3"), _TE_FP8("e5m2"), fast_forward=True),
        _documented(_TE + "Float8CurrentScaling"),
    ),
    Recipe(
        "te_block", *_by_blocks(_POWERS(granularity="vector"), _POWERS(granularity="block")),
        _documented(_TE + "Float8BlockScaling"), scale_order="cublas_blocks",
    ),
    Recipe("te_mxfp8", *_layer(_MX, _MX, _MX), _documented(_TE + "MXFP8BlockScaling")),
    Recipe("te_nvfp4", *_FP4, _documented(_TE + "NVFP4BlockScaling")),
    Recipe(
        "torchao_tensorwise", *_layer(_AO_FP8("e4m3"), _AO_FP8("e4m3"), _AO_FP8("e5m2"), fast_forward=True),
        _recorded(_AO + "float8/config.py, TENSORWISE; float8/float8_linear.py" + _H200), bias="after",
        keeps_weight=True,
    ),
    Recipe(
        "torchao_rowwise", *_layer(_AO_ROW, _AO_ROW, _AO_ROW, fast_forward=True),
        _recorded(_AO + "float8/config.py, ROWWISE; float8/float8_ops.py, addmm_float8_unwrapped" + _H200),
        bias="after", result="bf16", keeps_weight=True,
    ),
    Recipe(
        "torchao_rowwise_with_gw_hp", QuantisedProduct(_AO_ROW, _AO_ROW, is_precise=False),
        QuantisedProduct(_AO_ROW, _AO_FP8("e4m3", powers_of_two=True)), None,
        _recorded(_AO + "float8/config.py, ROWWISE_WITH_GW_HP" + _H200), bias="after", result="bf16", keeps_weight=True,
    ),
    Recipe(
        "torchao_block", *_by_blocks(_AO_FP8("e4m3", granularity="vector"), _AO_FP8("e4m3", granularity="block")),
        _documented(_AO + "prototype/blockwise_fp8_training/linear.py"), bias="after", result="bf16",
        keeps_weight=True, scale_order="cublas_blocks",
    ),
    Recipe(
        "torchao_mxfp8", *_layer(_MX, _MX, _MX),
        _documented(_AO + "prototype/moe_training/mxfp8_linear.py, RCEIL"), bias="after", keeps_weight=True,
    ),
    Recipe(
        "torchao_nvfp4", *_FP4, _documented(_AO + "prototype/moe_training/nvfp4_training/nvfp4_linear.py"),
        bias="after", result="bf16", alpha="torchao",
    ),
    Recipe(
        "deepseek", *_by_blocks(
            Cast("e4m3", "deepgemm_cuda", granularity="vector"), Cast("e4m3", "deepgemm_cuda", granularity="block")
        ),
        Evidence("literature", "DeepSeek-V3 (arXiv 2412.19437), section 3.3; DeepGEMM (54e2261), utils/math.py"),
        bias="after", result="bf16", scale_order="deepgemm",
    ),
)  # fmt: skip

RECIPES: dict[str, Recipe] = {row.name: row for row in _ROWS}
"""Every recipe by its name."""


def recipe_of(name: object) -> Recipe:
    """Look up a recipe by its name; a `Recipe` is returned unchanged.

    Raises
    ------
    UnknownNameError
        If the name is not in the table.

    Examples
    --------
    >>> recipe_of("te_mxfp8").forward.a.format
    'mxfp8_e4m3'
    """
    if isinstance(name, Recipe):
        return name
    if not isinstance(name, str) or name not in RECIPES:
        hint = did_you_mean(name, RECIPES, f"the recipes are {', '.join(RECIPES)}") if isinstance(name, str) else ""
        raise UnknownNameError(f"there is no recipe {shorten(name)}{hint or '; pass a name or a Recipe'}")
    return RECIPES[name]
