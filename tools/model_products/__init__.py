# SPDX-License-Identifier: MIT
"""The results of PyTorch's libraries for the products of whole models, next to the results of `wmma_emu.gemm`.

    python -m tools.model_products record --out products.json [--bits cublas_models.npz]
    python -m tools.model_products table products.json

``record`` needs PyTorch with CUDA and CuPy; on a machine without a GPU it runs PyTorch's own products of the host,
which shows that the program works and nothing else.
"""
