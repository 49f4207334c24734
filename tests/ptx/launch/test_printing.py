# SPDX-License-Identifier: MIT
"""``printf``: its output and result, as on an H200 (driver 580), and the limit on its output."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import VPRINTF, entry
from wmma_emu.errors import UnsupportedInstructionError


def kernel(fmt, stores, loops=1, name="vprintf"):
    """PTX of a kernel that prints ``fmt`` with arguments that ``stores`` writes at %a, and returns its result."""
    letters = ", ".join(str(x) for x in fmt.encode() + b"\0")
    body = f""".local .align 8 .b8 buffer[64];
    .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p;
    ld.param.u64 %a5, [out]; mov.u32 %r5, %tid.x; mul.wide.u32 %a6, %r5, 4; add.u64 %a5, %a5, %a6; mov.u32 %r6, {loops};
    mov.u64 %a1, buffer; cvta.local.u64 %a2, %a1; mov.u64 %a3, text; cvta.global.u64 %a4, %a3;
    {stores}
again:
    {{
    .param .b64 p0; .param .b64 p1; .param .b32 q;
    st.param.b64 [p0], %a4; st.param.b64 [p1], %a2;
    call.uni (q),
    {name},
    (
    p0,
    p1
    );
    ld.param.b32 %r1, [q];
    }}
    sub.u32 %r6, %r6, 1; setp.ne.u32 %p, %r6, 0; @%p bra again;
    st.global.u32 [%a5], %r1;
    ret;"""
    declared = VPRINTF.replace("vprintf", name)
    return entry(".param .u64 out", body, before=f"{declared}\n.global .align 1 .b8 text[] = {{{letters}}};")


def store(*values):
    """Store numbers, 64-bit floats and addresses at their offsets in the buffer."""
    out, at = [], 0
    for x in values:
        size = 4 if isinstance(x, int) else 8
        at += -at % size
        if isinstance(x, int):
            out.append(f"st.local.u32 [buffer+{at}], {x % 2**32};")
        elif isinstance(x, float):
            out.append(f"st.local.u64 [buffer+{at}], 0x{np.float64(x).view(np.uint64):x};")
        else:
            out.append(f"st.local.u64 [buffer+{at}], {x or '%a4'};")
        at += size
    return "\n".join(out)


@pytest.mark.parametrize(("fmt", "values", "text", "count"), [
    ("plain", (), "plain", 0),
    ("%d %u %i%%", (-1, -1, 7), "-1 4294967295 7%", 3),
    ("%*d|%-*d|%+*d|%0*d|%d", (8, 5, -7, 5, 6, 5, 6, 5, 7), "       5|5      |    +5|000005|7", 9),
    ("%.*f", (2, 0.5), "%.*f", 0),
    ("%zu %jd %td", (), "%zu %jd %td", 0),
    ("%hd %hu %hhd", (70000, 65537, 300), "4464 1 44", 2),
    ("%a %A %20a %.2a", (1.5, 0.1, 1.5, 1.7), "0x1.8p+0 0X1.999999999999AP-4             0x1.8p+0 0x1.b3p+0", 4),
    ("%p %20p", ("0x1234", "0"), "0x1234                (nil)", 2),
    ("%o %#o %#x %#X %X", (8, 8, 255, 255, 255), "10 010 0xff 0XFF FF", 5),
    ("%f %F %e", (float("inf"), -float("inf"), float("nan")), "inf -INF nan", 3),
    ("%5c|%-5c|%c", (97, 98, 99), "    a|b    |c", 3),
    ("%10s|%-10.2s|%s", ("", "", "0"), "%10s|%-10.2s|%s|%1        |(null)", 3),
    ("%+d % d %+.3e %#g %g %G", (5, 6, 1.5, 1.0, 1e-10, 1e-10), "+5  6 +1.500e+00 1.00000 1e-10 1E-10", 6),
    ("%.3d|%8.3d|%08d|%-08d", (5, 5, 5, 5), "005|     005|00000005|5       ", 4),
    ("%+08d|%05x|%.0d|%.5x|%#.5x", (5, 15, 0, 5, 5), "+0000005|0000f||00005|0x00005", 5),
    ("%.0f %.1f %.30f", (0.5, 0.25, 0.1), "0 0.2 0.100000000000000005551115123126", 3),
    ("%lld %lu %lf", ("-1", "-1", 1.5), "-1 18446744073709551615 1.500000", 3),
    ("end%", (), "end%", 0),
], ids=str)  # fmt: skip
def test_a_gpu_prints_this_and_returns_the_number_of_arguments(fmt, values, text, count):
    out = np.full(1, 99, np.int32)
    report = we.ptx.Module(kernel(fmt, store(*values)))["k"][1, 1](out)
    assert (report.output, out.tolist(), report.findings) == (text, [count], ())


def test_without_a_format_the_result_is_minus_one():
    out = np.zeros(1, np.int32)
    report = we.ptx.Module(kernel("", "mov.u64 %a4, 0;"))["k"][1, 1](out)
    assert (report.output, out.tolist(), report.findings) == ("", [-1], ())


def test_missing_arguments_of_printf_are_a_finding():
    out = np.zeros(1, np.int32)
    report = we.ptx.Module(kernel("%d", "mov.u64 %a2, 0;"))["k"][1, 1](out, findings="report")
    assert [x.kind for x in report.findings] == ["out of bounds"]


@pytest.mark.parametrize("width", ["2000000000", "9" * 40, "0.2000000000", "." + "9" * 40])
def test_a_field_takes_no_more_memory_than_a_page(width):
    out = np.zeros(1, np.int32)
    report = we.ptx.Module(kernel(f"%{width}d|%d", store(5, 6)))["k"][1, 1](out)
    assert len(report.output) == 4096 + 2 and report.output.endswith("5|6") and out.tolist() == [2]


def test_a_width_that_is_an_argument_is_cut_too():
    report = we.ptx.Module(kernel("%*d", store(2**31 - 1, 5)))["k"][1, 1](np.zeros(1, np.int32))
    assert report.output == "5".rjust(4096)


def test_omitted_output_is_counted_over_all_blocks():
    out = np.zeros(64, np.int32)
    report = we.ptx.Module(kernel("%d\n", store(5), 8))["k"][4, 64](out)
    assert report.output == "5\n" * 1000 + "\nand 1048 more calls of printf, whose output is not kept\n"
    assert out.tolist() == [1] * 64


def test_letters_are_limited_as_calls_are():
    fmt = "%4096d" * 8
    report = we.ptx.Module(kernel(fmt, store(*[5] * 8)))["k"][3, 64](np.zeros(64, np.int32))
    text, _, more = report.output.partition("\nand ")
    assert len(text) == 1 << 20 and more == "128 more calls of printf, whose output is not kept\n"


def test_a_function_that_the_driver_has_not_is_shown_with_its_whole_call():
    module = we.ptx.Module(kernel("", "", name="vfprintf"))
    message = (
        r"k cannot run, line \d+: call\.uni \(q\), vfprintf, \( p0, p1 \);\n.*"
        "the function vfprintf is not defined in this PTX source"
    )
    with pytest.raises(UnsupportedInstructionError, match=message):
        module["k"][1, 1](np.zeros(1, np.int32))


@pytest.mark.parametrize(("stores", "found"), [
    (store(1, 2), []), (store(1), ["uninitialised"]),
    ("add.u32 %r2, %r7, 1; st.local.u32 [buffer], %r2; st.local.u32 [buffer+4], 2;", ["uninitialised"]),
])  # fmt: skip
def test_printing_an_uninitialised_value_is_a_finding(stores, found):
    report = we.ptx.Module(kernel("%d %d", stores))["k"][1, 1](np.zeros(1, np.int32), findings="report")
    assert [x.kind for x in report.findings] == found
    assert all("the printed value" in x.message for x in report.findings)
