# SPDX-License-Identifier: MIT
"""British spelling, which is the project's, in prose; identifiers and code keep what they are called."""

import re

_ISE = (
    "quant|dequant|initial|uninitial|normal|denormal|synchron|serial|deserial|optim|organ|recogn|summar|emphas|general|special"
    "|real|minim|maxim|categor|custom|final|random|vector|parallel|linear|characterer|character|formal|util|memor|priorit|token"
    "|standard|capital|visual|factor|discret|canonical|author|apolog|critic|symbol|local|equal|stabil|penal|modern|item|anonym"
)

SPELLINGS = [
    (rf"\b({_ISE})iz(e|es|ed|ing|er|ers|ation|ations|able)\b", r"\1is\2"),
    (r"\b(analy|paraly)z(e|es|ed|ing|er|ers)\b", r"\1s\2"),
    (r"\b(col|behavi|fav|neighb|hon|harb|lab|flav|vap|rum|hum)or(s|ed|ing|less|ful|able|hood|ite)?\b", r"\1our\2"),
    (r"\b(cent|fib|theat|calib)er(s|ed)?\b", r"\1re\2"),
    (r"\b(label|model|cancel|travel|signal|level|total|tunnel|channel|marshal)(ed|ing|er|ers)\b", r"\1l\2"),
    (r"\b(catal|dial|anal)og(s)?\b", r"\1ogue\2"),
    (r"\b(gr)ay(s|ish|scale)?\b", r"\1ey\2"),
    (r"\b(defen|offen|preten)se(s|less)?\b", r"\1ce\2"),
    (r"\b(artifact)(s)?\b", r"artefact\2"),
    (r"\b(judg|acknowledg)ment(s)?\b", r"\1ement\2"),
]

QUOTED = (
    "failed to specialize argument",
    "Modeling deep learning accelerator",
    "Numerical behavior of NVIDIA",
    "Color Vision Deficiency",
    "Transactions on Visualization",
    "data path layout organization",
    "Organization for Ethical Source",
    "quantize quantization quantizer dequantize",
)
"""Titles, words of other programs, and words that readers type into a search."""

_COMPILED = [(re.compile(rf"(?<![.-]){pattern}(?![-(]| : )", re.IGNORECASE), british) for pattern, british in SPELLINGS]


def american(text: str) -> list[tuple[int, str, str]]:
    """Return where American spellings begin, with each and its British form."""
    for words in QUOTED:
        text = re.sub(re.escape(words), lambda m: " " * len(m[0]), text)
    found = []
    for pattern, british in _COMPILED:
        for match in pattern.finditer(text):
            found.append((match.start(), match[0], match.expand(british)))
    return sorted(found)
