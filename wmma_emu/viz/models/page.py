# SPDX-License-Identifier: MIT
"""A comparison of chips on a model as one page of HTML, which needs no other file."""

from collections.abc import Iterator
from html import escape

from wmma_emu.torch.comparing import ModelComparison
from wmma_emu.torch.comparing.text import TextTable, layer_rows, sentences, share, tables
from wmma_emu.viz.models.charts import Bar, Line, bars, growth

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #57606a; --back: #fff; --line: #d0d7de; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --quiet: #9198a1; --back: #0d1117; --line: #30363d; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--back); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; } th, td { padding: .2rem .9rem .2rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { color: var(--quiet); font-weight: 600; } th.word, td.word { text-align: left; }
pre { white-space: pre-wrap; color: var(--quiet); }
""".strip()


def page(found: ModelComparison) -> str:
    """Return the page."""
    title = escape(f"One model on {', '.join(found.chips)}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        f'content="width=device-width, initial-scale=1">\n<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n'
        f"</head>\n<body>\n<h1>{title}</h1>\n{fragment(found)}\n</body>\n</html>\n"
    )


def fragment(found: ModelComparison) -> str:
    """Return the contents of the page, as a notebook shows them."""
    parts = [f"<ul>{''.join(f'<li>{escape(x)}</li>' for x in sentences(found))}</ul>"]
    parts += [f'<div class="wide">{x}</div>' for x in _pictures(found)]
    parts += [_table(x) for x in _whole_tables(found)]
    for chip, summary in found.summaries.items():
        parts.append(f"<h2>{escape(chip)}: the products</h2><pre>{escape(summary)}</pre>")
    return "\n".join(parts)


def _pictures(found: ModelComparison) -> Iterator[str]:
    layers = [x.layer for x in found.of(found.chips[1])] if len(found.chips) > 1 else []
    lines = []
    for chip in found.chips[1:]:
        by_layer = {x.layer: x.distance.relative for x in found.of(chip)}
        lines.append(Line(chip, [by_layer.get(x, 0.0) for x in layers]))
    note = "The norm of the difference, divided by the norm of the reference's output of the layer; point at a layer."
    yield growth(lines, layers, f"How the difference from {found.reference} grows", [note])
    if found.mechanisms:
        yield _mechanisms(found)
    if found.products:
        yield _rounding(found)


def _mechanisms(found: ModelComparison) -> str:
    groups = []
    for chip in found.chips[1:]:
        rows = [("the whole chip", found.output(chip).share)]
        for x in (y for y in found.mechanisms if y.chip == chip):
            rows += [(f"{x.mechanism} alone", x.alone.share), (f"all but {x.mechanism}", x.without.share)]
        groups.append((chip, [Bar(name, value, share(value)) for name, value in rows]))
    note = "The share of elements of the output whose bits differ from the reference's, with mechanisms switched."
    return bars(groups, "Which mechanism makes the difference", [note])


def _rounding(found: ModelComparison) -> str:
    groups = []
    for table in tables(found):
        if table.title.startswith("products"):
            for chip in found.chips[1:]:
                rows = [row for row in table.rows if row[0] == chip]
                groups.append((chip, [
                    Bar(f"{row[1]}, {name}", float(value.rstrip(" %")) / 100, value)
                    for row in rows for name, value in (("sums", row[3]), ("rounded", row[4]))
                ]))  # fmt: skip
    note = "The share of elements that differ in products of equal operands, before and after the rounding of results."
    return bars(groups, "What the rounding of results hides", [note])


def _whole_tables(found: ModelComparison) -> Iterator[TextTable]:
    """Return the tables with all layers."""
    for table in tables(found):
        chip = table.title.removeprefix("layers, ").partition(" against ")[0]
        if table.title.startswith("layers, "):
            yield table._replace(rows=list(layer_rows(found.of(chip))))
        else:
            yield table


def _table(table: TextTable) -> str:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(f"<{tag}{' class=word' * (i < table.words)}>{escape(x)}</{tag}>" for i, x in enumerate(row))

    rows = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    return (
        f'<h2>{escape(table.title)}</h2>\n<div class="wide"><table>\n'
        f"<thead><tr>{cells('th', table.head)}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )
