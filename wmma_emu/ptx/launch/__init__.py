# SPDX-License-Identifier: MIT
"""The public interface to PTX kernels: modules, kernels, launches, reports, and the compilers that produce PTX."""
