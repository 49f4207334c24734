# SPDX-License-Identifier: MIT
"""What users touch: modules, kernels, launches, reports, and the compilers that PTX comes from."""
