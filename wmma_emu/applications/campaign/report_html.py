# SPDX-License-Identifier: MIT
"""A campaign's report as one page of HTML that needs nothing else, by day and by night."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from wmma_emu.applications.campaign.report import CampaignReport
from wmma_emu.applications.campaign.report_text import facts, verdict, with_model, wrong_rows

_WRONG = ("mismatches", "executed_wrong", "referenced_wrong")

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #57606a; --back: #fff; --line: #d0d7de; --panel: #f6f8fa;
  --good: #1a7f37; --bad: #cf222e; --open: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --quiet: #9198a1; --back: #0d1117; --line: #30363d;
  --panel: #161b22; --good: #3fb950; --bad: #ff7b72; --open: #d29922; } }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--back); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; }
dt { color: var(--quiet); } dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .25rem .9rem .25rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { color: var(--quiet); font-weight: 600; } th.word, td.word { text-align: left; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 1rem; overflow-x: auto;
  font: 12.5px/1.45 ui-monospace, monospace; }
""".strip()


def page(report: CampaignReport) -> str:
    """Write the page."""
    mood = "bad" if report.mismatches or report.self_mismatches else "good" if report.ok else "open"
    parts = [
        f'<h1>Crosscheck: <span class="{mood}">{escape(verdict(report))}</span></h1>',
        "<dl>", *(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(report)), "</dl>",
        "<h2>By kind of instruction</h2>", _table(report.summed("group"), "group", "instructions"),
        "<h2>By family of inputs</h2>", _table(report.summed("family"), "family", "instructions"),
        *_mismatches(report),
        "<h2>By instruction</h2>", _table(_instructions(report), "mnemonic"),
    ]  # fmt: skip
    title = escape(f"Crosscheck: {verdict(report)}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        f'content="width=device-width, initial-scale=1">\n<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n'
        "</head>\n"
        f"<body>\n{chr(10).join(parts)}\n</body>\n</html>\n"
    )


def _mismatches(report: CampaignReport) -> Iterable[str]:
    wrong = [with_model(x) for x in wrong_rows(report, "mnemonic", "model", "family")]
    if not wrong:
        return
    yield "<h2>Mismatches</h2>"
    yield _table(wrong, "mnemonic", "family")
    for finding in report.findings:
        yield f"<pre>{escape(finding['text'])}</pre>"


def _instructions(report: CampaignReport) -> list[dict[str, Any]]:
    """One row an instruction; which families it had with how many is in the JSON report."""
    rows = report.summed("mnemonic", "lowering", "model")
    plain = ("native", "")
    told = [", ".join(row[x] for x in ("lowering", "model") if row[x] not in plain) for row in rows]
    named = [(row["mnemonic"], f" ({text})" if text else "") for row, text in zip(rows, told, strict=True)]
    return [{**row, "mnemonic": name + lowering} for row, (name, lowering) in zip(rows, named, strict=True)]


def _table(rows: Sequence[dict[str, Any]], *keys: str) -> str:
    names = {"executed": "through registers", "executed_wrong": "differ", "referenced": "by the reference engine",
             "referenced_wrong": "differ", "mnemonic": "instruction", "group": "kind",
             "dot_products": "dot products"}  # fmt: skip
    columns = [*keys, "dot_products", "mismatches", "executed", "executed_wrong", "referenced", "referenced_wrong"]
    words = {"group", "family", "mnemonic"}
    kinds = [' class="word"' if x in words else "" for x in columns]
    head = "".join(f"<th{kind}>{escape(names.get(x, x))}</th>" for x, kind in zip(columns, kinds, strict=True))
    body = "\n".join(f"<tr>{''.join(_cells(row, columns, words))}</tr>" for row in rows)
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def _cells(row: dict[str, Any], columns: Sequence[str], words: set[str]) -> Iterable[str]:
    for name in columns:
        value = row[name]
        if name in words:
            yield f'<td class="word">{escape(value)}</td>'
        elif name in _WRONG and value:
            yield f'<td class="bad">{value:,}</td>'
        else:
            yield f"<td>{value:,}</td>"
