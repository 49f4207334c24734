# SPDX-License-Identifier: MIT
"""A model on several chips: how the difference grows from layer to layer, and which mechanism makes it."""
