# SPDX-License-Identifier: MIT
"""Dot products as LLVM's intermediate code, generated from the table of models: functions that multiply small tiles."""
