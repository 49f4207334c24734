# SPDX-License-Identifier: MIT
"""A comparison of chips on a model as text: sentences and tables, plain or for `rich`."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from wmma_emu.display import in_columns
from wmma_emu.torch.comparing.result import LayerDifference, ModelComparison

_MOST_LAYERS = 40
_LAYERS = ("layer", "elements", "differ", "median ulps", "largest ulps", "relative", "growth")
_MECHANISMS = ("chip", "mechanism", "alone: differ", "relative", "without it: differ", "relative")
_PRODUCTS = ("chip", "operation", "products", "sums differ", "after rounding")


class TextTable(NamedTuple):
    """A table: a title, the names of the columns, and rows; the first ``words`` columns are words."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 1


def text(found: ModelComparison) -> str:
    """Write everything in plain text."""
    lines = list(sentences(found))
    for table in tables(found):
        right = range(table.words, len(table.head))
        lines += ["", table.title, *in_columns([table.head, *table.rows], right=list(right))]
    return "\n".join(lines)


def rich_text(found: ModelComparison) -> Any:
    """Return tables of `rich`."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(x) for x in sentences(found)]
    for table in tables(found):
        shown = Table(title=table.title, title_justify="left")
        for i, name in enumerate(table.head):
            shown.add_column(name, justify="left" if i < table.words else "right")
        for row in table.rows:
            shown.add_row(*map(Text, row))
        parts.append(shown)
    return Group(*parts)


def sentences(found: ModelComparison) -> Iterator[str]:
    """Return the differences and their reasons as sentences."""
    yield f"reference: {found.reference}"
    for chip in found.chips[1:]:
        first, output = found.first_difference(chip), found.output(chip)
        if first is None:
            yield f"{chip}: no bit of any layer differs"
            continue
        yield (
            f"{chip}: the first layer with other bits is {first.layer} ({share(first.distance.share)} of its elements);"
            f" {share(output.share)} of the output differs, {output.relative:.2g} of its norm"
        )
        if chip in found.explained:
            names = " and ".join(x.mechanism for x in found.mechanisms if x.chip == chip)
            what = f"{names} switched to {found.reference}'s" if names else "no mechanism in which they differ"
            yield f"{chip}: with {what}, {'no bit' if found.explained[chip] else 'the output still'} differs"
    yield from (str(x) for x in found.decisions if x.rows)


def tables(found: ModelComparison) -> Iterator[TextTable]:
    """Return the tables: layers, mechanisms, products."""
    for chip in found.chips[1:]:
        rows = list(layer_rows(shown_layers(found.of(chip))))
        yield TextTable(f"layers, {chip} against {found.reference}", _LAYERS, rows)
    if found.mechanisms:
        yield TextTable("mechanisms, in the output", _MECHANISMS, list(_mechanism_rows(found)), 2)
    if found.products:
        yield TextTable("products of equal operands", _PRODUCTS, list(_product_rows(found)), 2)


def _mechanism_rows(found: ModelComparison) -> Iterator[tuple[str, ...]]:
    for x in found.mechanisms:
        numbers = (y for one in (x.alone, x.without) for y in (share(one.share), f"{one.relative:.2g}"))
        yield x.chip, x.mechanism, *numbers


def layer_rows(layers: Sequence[LayerDifference]) -> Iterator[tuple[str, ...]]:
    """Write a row for each layer; growth is the relative distance divided by that of the row before."""
    before = 0.0
    for x in layers:
        d, found = x.distance, x.distance.statistics
        median, largest = ("-" if y is None else f"{y:g}" for y in (found.median, found.largest))
        growth = f"{d.relative / before:.2f}" if before and d.relative else "-"
        yield x.layer, str(found.elements), share(d.share), median, largest, f"{d.relative:.2g}", growth
        before = d.relative


def shown_layers(layers: list[LayerDifference]) -> list[LayerDifference]:
    """Return all layers, or those that are not deep inside others, if there are too many for a terminal."""
    depths = sorted({x.layer.count(".") for x in layers}, reverse=True)
    for depth in depths[:-1]:
        if len(layers) <= _MOST_LAYERS:
            break
        layers = [x for x in layers if x.layer.count(".") < depth]
    return layers


def share(value: float) -> str:
    """Write a share in per cent, with two digits where it is small."""
    return f"{100 * value:.2g} %" if 0 < value < 0.1 else f"{100 * value:.0f} %"


def _product_rows(found: ModelComparison) -> Iterator[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[Any]] = {}
    for x in found.products:
        groups.setdefault((x.chip, x.operation), []).append(x)
    for (chip, operation), products in groups.items():
        shares = []
        for name in ("accumulators", "results"):
            all_of = [getattr(x, name).statistics for x in products]
            shares.append(sum(x.differing for x in all_of) / max(sum(x.elements for x in all_of), 1))
        yield chip, operation, str(len(products)), *map(share, shares)
