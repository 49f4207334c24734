# SPDX-License-Identifier: MIT
"""Recipes for training in low precision: FP8, MXFP8 and NVFP4 for the products of linear layers."""

from wmma_emu.models.recipes.errors import OperandErrors, ProductErrors, StepErrors
from wmma_emu.models.recipes.layers import LayerProduct, RecipeMultiplier
from wmma_emu.models.recipes.operands import hadamard_matrix
from wmma_emu.models.recipes.spec import ROLES, Cast, QuantisedProduct, Recipe, Role
from wmma_emu.models.recipes.table import RECIPES, recipe_of

__all__ = [
    "RECIPES",
    "ROLES",
    "Cast",
    "LayerProduct",
    "OperandErrors",
    "ProductErrors",
    "QuantisedProduct",
    "Recipe",
    "RecipeMultiplier",
    "Role",
    "StepErrors",
    "hadamard_matrix",
    "recipe_of",
]
