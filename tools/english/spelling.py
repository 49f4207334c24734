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
    (r"\b(cent|fib|met|theat|lit|calib)er(s|ed)?\b(?<!meter)(?<!meters)", r"\1re\2"),
    (r"\b(label|model|cancel|travel|signal|level|total|tunnel|channel|marshal|pencil|dial|fuel)(ed|ing|er|ers)\b", r"\1l\2"),
    (r"\b(catal|dial|anal)og(s)?\b", r"\1ogue\2"),
    (r"\b(gr)ay(s|ish|scale)?\b", r"\1ey\2"),
    (r"\b(defen|offen|preten)se(s|less)?\b", r"\1ce\2"),
    (r"\b(artifact)(s)?\b", r"artefact\2"),
    (r"\b(judg|acknowledg)ment(s)?\b", r"\1ement\2"),
    (r"\b(fulfil|enrol|instal|skil)l?(ment|ful)\b(?<!skillful)(?<!fulfilment)(?<!enrolment)(?<!installment)(?<!skilful)", r"\1\2"),
    (r"\b(aluminum|program)me?\b(?!\w)(?<!program)(?<!programme)", r"\1"),
]

_COMPILED = [(re.compile(pattern, re.IGNORECASE), british) for pattern, british in SPELLINGS]


def american(text: str) -> list[tuple[int, str, str]]:
    """Return where American spellings begin, with each and its British form."""
    found = []
    for pattern, british in _COMPILED:
        for match in pattern.finditer(text):
            found.append((match.start(), match[0], match.expand(british)))
    return sorted(found)
