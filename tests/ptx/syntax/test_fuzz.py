# SPDX-License-Identifier: MIT
"""Any input is parsed or refused: ten thousand inputs, generated in four ways."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.fuzz_ptx_parser import HEAD, SNIPPETS, TEXTS, WORDS, Counts, make, sources, try_one
from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.build import program_of

KERNEL = HEAD + ".entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .pred %p<9>; .param .b32 q; L: "

heads = st.sampled_from(["", HEAD, KERNEL])
alphabet = st.sampled_from("abr.%_$0123456789xfUe+-*/<>{}[]()|&^~!?:;,@=\"\\#' \t\n\r\0é\u2028")


def quick(count):
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


def is_parsed(text):
    try:
        program_of(text)
    except (PtxSyntaxError, UnsupportedInstructionError) as error:
        assert str(error)
        return False
    return True


@quick(1000)
@given(heads, st.text(alphabet, max_size=60) | st.text(max_size=40))
def test_characters_in_any_order_are_parsed_or_refused(head, text):
    is_parsed(head + text)


@quick(600)
@given(heads, st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(["", "}", "; }", "}}"]))
def test_words_in_any_order_are_parsed_or_refused(head, words, tail):
    is_parsed(head + " ".join(words) + tail)


names = st.sampled_from(["%r1", "%r2", "%p1", "L", "M", "a", "q", "_", "%tid.x", "s", "f", "v", "WARP_SZ", "%r9"])
constants = st.sampled_from(["0", "-1", "0x1F", "1.5", "0f3F800000", "(1 << 3)", "~0", "1 ? 2 : 3", "9" * 25])
operands = st.one_of(
    names,
    constants,
    st.builds("!{}".format, names),
    st.builds("{}|{}".format, names, names),
    st.builds("[{}]".format, names),
    st.builds("[{}+{}]".format, names, constants),
    st.builds("{}[{}]".format, names, constants),
    st.lists(names | constants, min_size=1, max_size=4).map(lambda x: "{" + ", ".join(x) + "}"),
)
instructions = st.builds(
    "{} {} {};".format,
    st.sampled_from(["", "@%p1", "@!%p1", "@%r1"]),
    st.sampled_from(["add.s32", "bra", "brx.idx", "call", "ld.shared::cta.b32", "ret"]),
    st.lists(operands, max_size=4).map(", ".join),
)
declarations = st.sampled_from(
    [
        ".reg .b32 a;",
        ".reg .b32 %r<3>;",
        ".local .b8 v[4];",
        ".shared .b8 s[];",
        ".param .b32 q;",
        "M:",
        "M: .branchtargets L, M;",
    ]
)
statements = st.recursive(
    st.lists(instructions | declarations, max_size=4).map(" ".join),
    lambda x: st.lists(x, max_size=3).map(lambda y: "{ " + " ".join(y) + " }"),
    max_leaves=6,
)


@pytest.mark.thorough
@quick(400)
@given(statements, st.sampled_from(["", ".func f { ret; }", ".extern .func f;", ".shared .b32 s[4];"]))
def test_statements_of_the_grammar_are_parsed_or_refused(body, before):
    is_parsed(KERNEL.replace(".entry", before + ".entry") + body + " }")


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("part", range(8))
def test_damaged_sources_are_parsed_or_refused(part):
    counts, texts = Counts(), sources()
    for index in range(1000):
        try_one(make(index, part, texts), counts, f"text {index} of seed {part}")
    assert counts.crashes == []
    assert counts.parsed + counts.refused == 1000
    assert counts.parsed > 30


def test_the_undamaged_sources_are_parsed():
    read = {path.read_text(encoding="utf-8") for path in TEXTS.glob("*.ptx")}
    assert read and SNIPPETS and set(sources()) == read | {HEAD + x for x in SNIPPETS}
    assert all(is_parsed(x) for x in sources())
    assert not is_parsed(HEAD + "é")
