# SPDX-License-Identifier: MIT
"""The PTX machine: scheduling, control flow, barriers and launches."""
