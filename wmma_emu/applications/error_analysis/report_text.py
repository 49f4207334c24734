# SPDX-License-Identifier: MIT
"""An error report as text: a heading, a table of lost bits, the bound, the worst element."""

import numpy as np

from wmma_emu.applications.error_analysis.ledger import KINDS
from wmma_emu.applications.error_analysis.report import ErrorReport
from wmma_emu.display import in_columns
from wmma_emu.formats import format_of
from wmma_emu.formats.dtypes import from_bits, to_bits

_SHORT = {
    "conversion": "conversions of operands and of c at the input",
    "products_cut": "bits of products below the last bit kept",
    "addend_cut": "bits of c, or of the running sum, below it",
    "accumulation": "roundings of sums that a later operation uses",
    "joining": "roundings of additions outside the steps",
    "output": "the last rounding",
}
_HEADS = ("lost bits", "elements", "mean |ulps|", "max |ulps|", "share", "")


def report_text(report: ErrorReport) -> str:
    """Return a report as text."""
    summary, shape = report.summary, " x ".join(map(str, report.result.shape))
    count = summary.count
    lines = [
        f"D {shape} ({report.format}), K = {report.k}: {report.instruction} on {report.arch}",
        f"errors of {count} element{'s' * (count != 1)} in ulps of {report.format}: max {summary.max_ulps:.4g}, "
        f"mean {summary.mean_ulps:.4g}, bias {summary.bias_ulps:+.4g}; relative rms "
        f"{summary.relative_rms:.3g}; {summary.correctly_rounded} correctly rounded",
    ]
    left_out = [
        f"{n} {why}"
        for n, why in (
            (report.specials, "for infinities or NaN among the operands"),
            (report.overflows, "that overflow"),
        )
        if n
    ]
    if left_out:
        lines.append(f"omitted: {', '.join(left_out)}")
    lines += ["", *_losses(report), "", f"bound    {report.bound}"]
    largest = report.largest_ratio()
    if largest is not None:
        lines.append(f"         the largest error is {largest[0]:.2g} of its bound, at {list(largest[1])}")
    return "\n".join([*lines, *_worst(report)])


def _losses(report: ErrorReport) -> list[str]:
    """Return one line for each kind with a loss."""
    sizes = {kind: np.abs(report.in_ulps(kind)) for kind in KINDS}
    total = sum(float(np.nansum(x)) for x in sizes.values())
    rows = [_HEADS]
    for kind, x in sizes.items():
        if not np.nansum(x):
            continue
        rows.append((
            kind, str(int((x > 0).sum())), f"{np.nansum(x) / report.summary.count:.4g}",
            f"{np.nanmax(x):.4g}", f"{np.nansum(x) / total:.0%}".replace("%", " %"), _SHORT[kind],
        ))  # fmt: skip
    if len(rows) == 1:
        return ["no bit was lost" if report.summary.count else "no element is counted"]
    return in_columns(rows, right=(1, 2, 3, 4))


def _worst(report: ErrorReport) -> list[str]:
    where = report.worst
    if where is None:
        return []
    fmt = format_of(report.format)
    bits = to_bits(report.result, fmt, "D")[where]
    value = from_bits(bits[None], fmt)[0]
    parts = {kind: float(report.in_ulps(kind)[where]) for kind in KINDS if report.contributions[kind][where]}
    made_of = " ".join(f"{x:+.4g} {kind}" for kind, x in parts.items())
    if len(parts) == 1:
        made_of = f"all of it {next(iter(parts))}"
    *batch, row, column = where
    matrices = "A, B" if not batch else f"the matrices at {batch}"
    return [
        f"worst    D{list(where)} = {bits:#0{fmt.bits // 4 + 2}x} = {value!s}, error "
        f"{report.ulps[where]:+.4g} ulps{', ' if len(parts) == 1 else ' = '}{made_of}",
        f"         report.explain() shows every step, as wmma_emu.explain(ins, {matrices}, row={row}, col={column}) "
        "does",
    ]
