# SPDX-License-Identifier: MIT
"""The calls of Python kernels that replace names of CUDA C++ and PTX in messages."""

import re

_WORDS = (
    (r"__syncthreads\(\)", "yield t.syncthreads()"),
    (r"__syncwarp\(\)", "t.syncwarp()"),
    (r"atomicAdd\(\)", "numpy.add.at()"),
    (r"cp\.async\.bulk\.tensor\.\dd\.shared[\w.:]*", "t.load_tensor"),
    (r"cp\.async\.bulk\.tensor\.\dd\.global[\w.:]*", "t.store_tensor"),
    (r"cp\.reduce\.async\.bulk\.tensor[\w.:]*", "t.reduce_tensor"),
    (r"cp\.reduce\.async\.bulk\.global[\w.:]*", "t.reduce_bulk"),
    (r"cp\.async\.bulk\.(?:shared|global)[\w.:]*", "t.copy_bulk"),
    (r"cp\.async\.bulk\.commit_group", "t.commit_group()"),
    (r"cp\.async\.bulk\.wait_group\.read", "t.wait_group(0, read=True)"),
    (r"cp\.async\.bulk\.wait_group", "t.wait_group()"),
    (r"without \.read\b", "without read=True"),
    (r"fence\.proxy\.async(?:\.[\w.:]*\w)?", "t.fence_proxy_async()"),
    (r"mbarrier\.try_wait in a loop", "yield bar.wait(parity)"),
    (r"mbarrier\.(?:try_wait|test_wait)(?:\.[\w.:]*\w)?", "bar.wait()"),
    (r"mbarrier\.arrive\.expect_tx(?:\.[\w.:]*\w)?", "bar.arrive_expect_tx()"),
    (r"mbarrier\.(init|inval|arrive|expect_tx)(?:\.[\w.:]*\w)?", r"bar.\1()"),
)  # fmt: skip


def in_python(text: str) -> str:
    """Replace names of calls and instructions by those of a Python kernel.

    Examples
    --------
    >>> in_python("no cp.async.bulk.wait_group has waited for it; write cp.async.bulk.commit_group; then __syncwarp()")
    'no t.wait_group() has waited for it; write t.commit_group(); then t.syncwarp()'
    >>> in_python("no cp.async.bulk.wait_group without .read has waited for it")
    'no t.wait_group() without read=True has waited for it'
    >>> in_python("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes of line 9")
    't.load_tensor of line 9'
    """
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    return text
