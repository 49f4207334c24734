# SPDX-License-Identifier: MIT
"""The tokens of C++ source without comments and without lines that ``#if 0`` excludes."""

import pytest

from wmma_emu.ptx.cuda.tokens import tokens_of


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n#if 0\nb\n#endif\nc", "a # # c"),
        ("#if 0\na\n#else\nb\n#endif\nc", "# # b # c"),
        ("#if 0\na\n#if X\nb\n#else\nc\n#endif\nd\n#endif\ne", "# # # # # e"),
        ("#if X\n#if 0\na\n#else\n#if 0\nb\n#endif\nc\n#endif\nd\n#else\ne\n#endif",
         "#if X # # # # c # d #else e #endif"),
        ("#if 0\na\n#elif X\nb\n#else\nc\n#endif\nd", "# #if  X b #else c #endif d"),
    ],
)  # fmt: skip
def test_what_if_0_leaves_out_is_gone_and_directives_that_are_settled_mean_nothing(text, left):
    assert " ".join(token.text for token in tokens_of(text)) == left
