# SPDX-License-Identifier: MIT
"""C++ operators in mangled names: their spelling, and the number of their operands."""

_UNARY = {
    "ps": "+", "ng": "-", "ad": "&", "de": "*", "co": "~", "nt": "!", "pp": "++", "mm": "--", "nx": "noexcept",
    "sz": "sizeof", "az": "alignof", "te": "typeid", "aw": "co_await",
}  # fmt: skip

_BINARY = {
    "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=",
    "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<", "rs": ">>",
    "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "ss": "<=>",
    "aa": "&&", "oo": "||", "cm": ",", "pm": "->*", "ds": ".*", "ix": "[]",
}  # fmt: skip

_OTHERS = {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "cl": "()", "qu": "?", "dt": ".", "pt": "->",
    "sc": "static_cast", "dc": "dynamic_cast", "rc": "reinterpret_cast", "cc": "const_cast",
}  # fmt: skip

OPERATORS = _UNARY | _BINARY | _OTHERS

ARITY = dict.fromkeys(_UNARY, 1) | dict.fromkeys(_BINARY, 2) | {"qu": 3}
"""The number of operands of operators on a fixed number of expressions."""

TYPE_OPERATORS = {"st": "sizeof", "at": "alignof", "ti": "typeid"}
"""The operators that take a type."""
