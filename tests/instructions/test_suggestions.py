# SPDX-License-Identifier: MIT
"""Messages for unknown mnemonics: the reason, and the three nearest instructions."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.representatives import FAMILIES, REPRESENTATIVES
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup


def complaint(text: object, arch: str | None = None) -> str:
    with pytest.raises(UnsupportedInstructionError) as caught:
        lookup(text, arch)  # type: ignore[arg-type]
    return str(caught.value)


CASES = [
    ("m16n8k16.f16.bf16.bf16.f16", None,
     "no mma.sync combines f16.bf16.bf16.f16 (d.a.b.c); with bf16 operands there is f32.bf16.bf16.f32.",
     ("m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.bf16.bf16.f32",
      "wmma.mma.m16n16k16.f32.bf16.bf16.f32")),
    ("m16n8k32.f32.e2m1.e2m1.f32", None,
     "e2m1 operands need .kind::f8f6f4, or, with .block_scale, .kind::mxf8f6f4, .kind::mxf4 or .kind::mxf4nvf4, of "
     "mma.sync and mma.sp::ordered_metadata.",
     ("m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32", "m16n8k32.kind::f8f6f4.f16.e2m1.e2m1.f16",
      "m16n8k32.kind::f8f6f4.f32.e3m2.e2m1.f32")),
    ("m16n8k32.kind::f8f6f4.f32.e3m2.e2m3.f32", "sm_100",
     "the first chip that supports it is sm_120; on sm_100 tcgen05.mma has .kind::f8f6f4 (wmma_emu.tcgen05).",
     ("m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32", "m16n8k32.kind::f8f6f4.f32.e4m3.e5m2.f32",
      "m16n8k32.kind::f8f6f4.f32.e5m2.e4m3.f32")),
    ("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", "b200",
     "sm_120; on sm_100 tcgen05.mma has .kind::mxf8f6f4 and its block scales (wmma_emu.tcgen05).",
     ("m16n8k32.f32.e4m3.e4m3.f32", "m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32", "m16n8k32.f16.e4m3.e4m3.f16")),
    ("mma.sp::ordered_metadata.m16n8k128.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "sm_103",
     "sm_120; on sm_103 tcgen05.mma.sp has .kind::mxf4 and its block scales (wmma_emu.tcgen05).",
     ("mma.sp::ordered_metadata.m16n8k64.f32.e4m3.e4m3.f32", "mma.sp::ordered_metadata.m16n8k64.f32.e4m3.e5m2.f32",
      "mma.sp::ordered_metadata.m16n8k64.f32.e5m2.e4m3.f32")),
    ("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "h200", "the first chip that supports it is sm_120. "
                                                                        "Nearest",
     ("m16n8k32.f32.e4m3.e4m3.f32", "m16n8k32.f32.e4m3.e5m2.f32", "m16n8k32.f32.e5m2.e4m3.f32")),
    ("m16n8k32.kind::mxf8f6f4.block_scale.f16.e4m3.e4m3.f16.ue8m0", None,
     "block scales need f32 accumulators, not f16.",
     ("m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", "m16n8k32.f16.e4m3.e4m3.f16",
      "m16n8k32.kind::f8f6f4.f16.e4m3.e4m3.f16")),
    ("m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0", None,
     ".kind::mxf8f6f4 takes scale_vec::1X with ue8m0 scales, their format named last; this mnemonic has "
     "scale_vec::2X and "
     "ue8m0.",
     ("m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", "m16n8k32.f32.e4m3.e4m3.f32",
      "m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32")),
    ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_75", "sm_75 (Turing) has no "
     "'mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32'; the first chip that supports it is sm_80.",
     ("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
      "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32",
      "wmma.mma.sync.aligned.row.col.m32n8k16.s32.s8.s8.s32")),
    ("m16n8k16.f32.f16.f16.f16", None, "f32.f16.f16.f16 comes in m8n8k4, not in m16n8k16.",
     ("m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.f16.f16.f32")),
    ("m16n8k8.row.row.f32.f16.f16.f32", None,
     "with these types m16n8k8 comes as row.col only, not as row.row.",
     ("m16n8k8.f32.f16.f16.f32", "m16n8k8.f16.f16.f16.f16", "m8n8k4.row.row.f32.f16.f16.f32")),
    ("m16n8k16.f32.f16.f16.f32.satfinite", None,
     ".satfinite is not legal: with these types m16n8k16 takes no modifier.",
     ("m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.f16.f16.f32")),
    ("m16n8k16.s32.s8.s8.s32.rn", None, ".rn is not legal; legal is .satfinite, or none.",
     ("m16n8k16.s32.s8.s8.s32", "m8n8k16.s32.s8.s8.s32", "m16n8k32.s32.s8.s8.s32")),
    ("wmma.mma.m16n16k16.f32.f16.f16.f32", None,
     "with f16 operands wmma.mma names the types of d and c only.",
     ("wmma.mma.m16n16k16.f32.f32", "wmma.mma.m16n16k16.f32.f16", "wmma.mma.m16n16k16.f16.f32")),
    ("wmma.mma.m16n16k16.s32.s8.u8.s32", None,
     "no wmma.mma combines s32.s8.u8.s32 (d.a.b.c); no such instruction has s8 and u8 operands.",
     ("wmma.mma.m16n16k16.s32.s8.s8.s32", "wmma.mma.m16n16k16.s32.u8.u8.s32", "m16n8k16.s32.s8.u8.s32")),
    ("m16n16k16.f32.f16.f16.f32", None, "mma.sync has no shape m16n16k16; wmma.mma has.",
     ("wmma.mma.m16n16k16.f32.f32", "wmma.mma.m16n16k16.f32.f16", "wmma.mma.m16n16k16.f16.f32")),
    ("m8n8k128.s32.b1.b1.s32", None, "one of .xor.popc and .and.popc is required.",
     ("m8n8k128.s32.b1.b1.s32.xor.popc", "m8n8k128.s32.b1.b1.s32.and.popc",
      "wmma.mma.xor.popc.m8n8k128.s32.b1.b1.s32")),
    ("m8n8k128.s32.b1.b1.s32.or.popc", None, ".or.popc is not legal; legal is .xor.popc and .and.popc.",
     ("m8n8k128.s32.b1.b1.s32.xor.popc", "m8n8k128.s32.b1.b1.s32.and.popc",
      "wmma.mma.xor.popc.m8n8k128.s32.b1.b1.s32")),
    ("m16n8k8.f32.f32.f32.f32", None,
     "no mma.sync combines f32.f32.f32.f32 (d.a.b.c); no such instruction has f32 operands.",
     ("m16n8k8.f32.tf32.tf32.f32", "m16n8k8.f32.f16.f16.f32", "m16n8k8.f32.bf16.bf16.f32")),
    ("m16n8k16.f32.tf32.tf32.f32", None, "f32.tf32.tf32.f32 comes in m16n8k4 and m16n8k8, not in m16n8k16.",
     ("m16n8k8.f32.tf32.tf32.f32", "m16n8k4.f32.tf32.tf32.f32", "wmma.mma.m16n16k8.f32.tf32.tf32.f32")),
    ("m16n8k16.f32.f16.f16.f23", None, "'f23' is not part of any mnemonic; did you mean 'f32'?",
     ("m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.f16.f16.f32")),
    ("m16n8k16", None, "it names no types, not four in the order d, a, b, c.",
     ("m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32")),
    ("m16n8k4.f64.f64.f64.f64", "a100", "the first chip that supports it is sm_90.",
     ("m8n8k4.f64.f64.f64.f64", "wmma.mma.m8n8k4.f64.f64.f64.f64", "m8n8k4.f64.f64.f64.f64.rn")),
    ("m16n8k16.f32.f16.f16.f32", "t4", "the first chip that supports it is sm_80.",
     ("m16n8k8.f32.f16.f16.f32", "wmma.mma.m16n16k16.f32.f32", "wmma.mma.m32n8k16.f32.f32")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "chip", "reason", "nearest"), CASES, ids=[case[0] for case in CASES])
def test_an_illegal_form_is_told_why_and_the_three_nearest(
    text: str, chip: str | None, reason: str, nearest: tuple[str, ...]
):
    message = complaint(text, chip)
    assert text in message
    assert reason in message
    assert message.partition("Nearest")[2].partition(": ")[2].split(", ") == list(nearest)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("m17n8k16.f32.f16.f16.f32", "mma.sync has no shape m17n8k16, it has m8n8k4, m8n8k16, "),
        ("f32.f16.f16.f32", "it names no shape; mma.sync has m8n8k4, "),
        ("m16n8k16.m16n8k8.f32.f16.f16.f32", "it names 2 shapes, m16n8k16 and m16n8k8"),
        ("m16n8k16.f32", "it names one type, not four"),
        ("wmma.mma.m16n16k16.f32", "not four in the order d, a, b, c (or d and c, where a and b are f16)"),
        ("m16n8k16.row.f32.f16.f16.f32", "it names one layout, not two (of a and of b)"),
        ("m8n8k4.f64.f64.f64.f64.rn.rz", ".rn.rz is not legal; legal is .rn, .rz, .rm and .rp, or none"),
        ("m8n8k16.s32.s8.s8.s32.satfinite.satfinite", ".satfinite is given twice"),
        ("m8n8k128.s32.b1.b1.s32.popc.xor", "is not legal; legal is .xor.popc and .and.popc"),
        ("wmma.m16n16k16.f32.f32", "did you mean 'wmma.mma'?"),
        ("wmma.mma.m16n16k16.f32.f32.satfinite", ".satfinite is not legal"),
        ("mma.sync.aligned.m8n8k16.row.col.s32.s8.s4.s32", "no such instruction has s8 and s4 operands"),
        ("m16n8k16..f32.f16.f16.f32", "a part between two dots is empty"),
        ("m16n8k16.f32.f16.f16.f32 {%r0};",
         "is more than a mnemonic; omit the operands: 'm16n8k16.f32.f16.f16.f32'"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16.f32", "it names 4 types, not three in the order d, a, b"),
        ("wgmma.m64n8k16.row.col.f32.f16.f16", "wgmma names no layouts"),
        ("wgmma.f32.f16.f16", "it names no shape; wgmma has m64nNk8, m64nNk16, m64nNk32 and m64nNk256, N a multiple "
         "of 8 up to 256 (of 16 above 24 for integers and bits)."),
        ("wgmma.m64n264k16.f32.f16.f16", "wgmma has no shape m64n264k16, it has m64nNk8, m64nNk16, "),
        ("wgmma.sp.m64n9k32.f32.f16.f16", "it has m64nNk16, m64nNk32 and m64nNk64, N a multiple of 8 up to 256"),
        ("wgmma.m64n40k32.s32.s8.s8",
         "s32.s8.s8 comes in m64nNk32, N a multiple of 8 up to 256 (of 16 above 24), not in m64n40k32"),
        ("wgmma.m64n64k8.f32.f16.f16", "comes in m64nNk16, N a multiple of 8 up to 256, not in m64n64k8"),
        ("wgmma.m64n64k256.s32.b1.b1", "one of .and.popc is required"),
        ("mma.sp.m16n8k8.f32.f16.f16.f32", "f32.f16.f16.f32 comes in m16n8k16 and m16n8k32, not in m16n8k8"),
        ("mma.sp.m16n8k32.f32.f16.f16", "it names 3 types, not four in the order d, a, b, c"),
        ("tcgen05.mma.cta_group::1.kind::f16", "names no shape, such as .m128n256k16"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32", "of tcgen05 only mma multiplies; wmma_emu.tcgen05 executes ld, st"),
        ("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32", "; this mnemonic has scale_vec::1X and no format."),
        ("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue4m3", "; this mnemonic has scale_vec::1X and ue4m3."),
        ("m16n8k32.kind::mxf8f6f4.f32.e4m3.e4m3.f32.ue8m0", ".kind::mxf8f6f4 needs .block_scale."),
        ("m16n8k64.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue4m3", ".kind::mxf4nvf4 takes scale_vec::2X with "
         "ue8m0 scales, scale_vec::4X with ue4m3 scales or scale_vec::4X with ue8m0 scales, their format named last; "
         "this mnemonic has no scale_vec and ue4m3."),
        ("m16n8k64.kind::mxf4.block_scale.f32.e4m3.e4m3.f32.ue8m0",
         "no mma.sync with .kind::mxf4 combines f32.e4m3.e4m3.f32 (d.a.b.c); no such instruction has e4m3 operands."),
        ("m16n8k32.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
         "mma.sync with .kind::mxf4 has no shape m16n8k32, it has m16n8k64."),
        ("m16n8k32.f32.e3m2.e2m3.f32", "e3m2 and e2m3 operands need .kind::f8f6f4, or, with .block_scale, "
         ".kind::mxf8f6f4, of mma.sync"),
        ("m16n8k16.f32.f16.f16.f32.block_scale",
         ".block_scale is a modifier of .kind::mxf8f6f4, .kind::mxf4 or .kind::mxf4nvf4, of mma.sync and "
         "mma.sp::ordered"),
        ("m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32.ue8m0", ".ue8m0 is a modifier of .kind::mxf8f6f4, "),
        ("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e4m3.f32",
         "mma.sp has no .kind::f8f6f4; mma.sync and mma.sp::ordered_metadata have."),
        ("m16n8k64.kind::mxf4.block_scale.scale_vec::8X.f32.e2m1.e2m1.f32.ue8m0", "'scale_vec::8X' is not part of any"),
        ("m16n8k32.kind::i8.s32.s8.s8.s32", ".kind::i8 is a kind of tcgen05.mma alone (wmma_emu.tcgen05)."),
        ("m16n8k32.kind::f8f6f4.kind::mxf4.f32.e2m1.e2m1.f32", "it names 2 kinds, .kind::f8f6f4 and .kind::mxf4."),
        ("m16n8k64.kind::mxf4.block_scale.scale_vec::2X.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
         ".scale_vec::2X is given twice."),
        ("m16n8k64.kind::mxf4.block_scale.ue8m0.f32.e2m1.e2m1.f32", "their format named last; this mnemonic has "
                                                                    "scale_vec::2X "
         "and ue8m0."),
        ("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.ue8m0",
         "it names 4 types, not five in the order d, a, b, c, scales."),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k16", "it names no types"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "it moves data"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", "it moves data"),
        ("fma.f32", "'fma.f32' stands for the CUDA-core baseline"),
        ("", "an empty string names no instruction"),
        (" ;\n", "an empty string names no instruction"),
        (3, "not by int 3"),
        (None, "not by NoneType None"),
        (b"m16n8k16", "not by bytes"),
    ],
)  # fmt: skip
def test_the_reason_is_as_precise_as_can_be(text: object, reason: str):
    assert reason in complaint(text)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10**6, "." * 10**6, " " * 10**6, ";" * 10**6, "m16n8k16." * 10**5, "m9" * 99, "." * 199,
        "q" * 199,
        ".".join(["f32"] * 50), ".".join(["qqqqqq"] * 28), "m9999n9999k9999.f32.f16.f16.f32",
        "m0n0k0.f16.f16.f16.f16",
        "m16n8k16.f32.f16.f16.f\N{SUPERSCRIPT THREE}2", "m16n8k16.\N{LATIN SMALL LETTER LONG S}32", "\0" * 50,
        "M16N8\N{KELVIN SIGN}16.f32.f16.f16.f32", "m\N{ARABIC-INDIC DIGIT ONE}n8k16", "\ud800",
        "\N{OGHAM SPACE MARK}",
        "m16n8k" + "1" * 150, "kind::" * 30, "row.col." * 20, "xor.popc." * 20,
    ],
    ids=lambda text: ascii(text[:12]) + str(len(text)),
)  # fmt: skip
def test_hostile_text_is_refused_at_once_and_in_few_words(text: str):
    start = time.perf_counter()
    message = complaint(text)
    assert time.perf_counter() - start < 0.5
    assert len(message) < 1200
    message.encode()  # nothing unprintable came through


def test_suggestions_are_never_repeated_and_always_legal():
    for chip in (None, *ARCHS):
        message = complaint("m16n8k77.f32.f16.f16.f32", chip)
        names = message.partition("Nearest")[2].partition(": ")[2].split(", ")
        assert len(names) == len(set(names)) == 3
        assert all(lookup(name, chip) for name in names)


WORDS = [
    *sorted({word for name in INSTRUCTIONS for word in name.split(".")}),
    *("", "or", "e2m1", "f17", "m7n7k7"),
]


@pytest.mark.property
@given(st.lists(st.sampled_from(WORDS), max_size=14), st.sampled_from([None, *ARCHS]))
def test_any_words_give_a_row_or_the_one_error(words: list[str], chip: str | None):
    try:
        row = lookup(".".join(words), chip)
    except UnsupportedInstructionError as error:
        assert len(str(error)) < 2000
    else:
        assert chip is None or chip in row.archs


@pytest.mark.property
@given(st.text(max_size=60))
def test_any_text_gives_the_one_error(text: str):
    with pytest.raises(UnsupportedInstructionError):
        lookup(text)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("family", FAMILIES)
def test_one_superfluous_or_wrong_part_leaves_the_row_itself_the_nearest(family: str):
    for name, row in REPRESENTATIVES.items():
        if row.family != family or (row.is_warpgroup and row.n != 24):
            continue
        wrong = [f"{name}.or.popc", f"{name}.block_scale", f"{name}.zz", name.replace(".sync", ".synk", 1)]
        if row.family == "mma.sync" and "f16" not in (row.a, row.b):
            wrong += [name.replace("row.col", "col.row"), name.replace("row.col", "col.col")]
        for text in wrong:
            nearest = complaint(text).partition("Nearest: ")[2].split(", ")[0]
            assert nearest in (name, row.short_mnemonic), text
