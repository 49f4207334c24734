# SPDX-License-Identifier: MIT
"""The result of a comparison of chips on a model: data first, then tables and a page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmma_emu.display import render
from wmma_emu.errors import OptionError, shorten
from wmma_emu.torch.comparing.distances import TensorDistance


@dataclass(frozen=True, slots=True)
class LayerDifference:
    """The distance of the output of one module from the reference's, when the whole model runs on the chip."""

    chip: str
    layer: str
    distance: TensorDistance

    def to_dict(self) -> dict[str, Any]:
        """Return a row of a data frame."""
        return {"chip": self.chip, "layer": self.layer, **self.distance.to_dict()}


@dataclass(frozen=True, slots=True)
class ProductDifference:
    """The distance of one product on the chip from the reference's, with equal operands.

    ``accumulators`` compares float32 sums, ``results`` what the rounding to the dtype of the result leaves.
    """

    chip: str
    module: str
    operation: str
    size: str
    accumulators: TensorDistance
    results: TensorDistance

    def to_dict(self) -> dict[str, Any]:
        """Return a row of a data frame."""
        return {
            "chip": self.chip, "module": self.module, "operation": self.operation, "size": self.size,
            "share_of_accumulators": self.accumulators.share, "share_of_results": self.results.share,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MechanismEffect:
    """The difference of the output from the reference's, with one mechanism switched.

    ``alone`` is the reference with only this mechanism of the chip; ``without`` the chip with this mechanism of the
    reference.
    """

    chip: str
    mechanism: str
    meaning: str
    alone: TensorDistance
    without: TensorDistance

    def to_dict(self) -> dict[str, Any]:
        """Return a row of a data frame."""
        return {
            "chip": self.chip, "mechanism": self.mechanism, "share_alone": self.alone.share,
            "relative_alone": self.alone.relative, "share_without": self.without.share,
            "relative_without": self.without.relative,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChangedDecision:
    """The largest number of each row of the output: a token, or a class.

    ``first`` is the first row that chooses another, and ``margin`` the distance between its two largest numbers on the
    reference.
    """

    chip: str
    rows: int
    changed: int
    first: tuple[int, ...] | None = None
    reference_choice: int | None = None
    choice: int | None = None
    margin: float | None = None

    def __str__(self) -> str:
        if self.first is None:
            rows = "the row" if self.rows == 1 else f"all {self.rows} rows"
            return f"{self.chip}: {rows} of the output choose{'s' * (self.rows == 1)} the same"
        where = ", ".join(map(str, self.first))
        return (
            f"{self.chip}: {self.changed} of {self.rows} rows choose another; the first is row {where}: {self.choice} "
            f"instead of {self.reference_choice}, which led by {self.margin:.3g}"
        )


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """A model on several chips. ``str()`` gives tables; a notebook shows the page.

    Parameters
    ----------
    chips : tuple of str
        The names, the reference first.
    layers, products, mechanisms, decisions : tuples
        In the order of execution, for each chip but the reference.
    explained : dict
        For each chip, whether it has the reference's bits with all mechanisms switched to the reference's.
    summaries : dict
        The summary of each chip's log.
    """

    chips: tuple[str, ...]
    layers: tuple[LayerDifference, ...]
    products: tuple[ProductDifference, ...]
    mechanisms: tuple[MechanismEffect, ...]
    decisions: tuple[ChangedDecision, ...]
    explained: dict[str, bool]
    summaries: dict[str, str]

    @property
    def reference(self) -> str:
        """The chip with which the others are compared."""
        return self.chips[0]

    def of(self, chip: str) -> list[LayerDifference]:
        """Return the layers of one chip."""
        return [x for x in self.layers if x.chip == chip]

    def output(self, chip: str) -> TensorDistance:
        """Return the distance of the model's output."""
        if chip not in self.chips[1:]:
            raise OptionError(
                f"{shorten(chip)} was not compared with {self.reference}; the others are {', '.join(self.chips[1:])}"
            )
        return next(x.distance for x in reversed(self.of(chip)) if x.layer == "output")

    def first_difference(self, chip: str) -> LayerDifference | None:
        """Return the first layer whose bits differ."""
        return next((x for x in self.of(chip) if x.distance.statistics.differing), None)

    def to_dicts(self, what: str = "layers") -> list[dict[str, Any]]:
        """Return rows of a data frame: of ``"layers"``, ``"products"`` or ``"mechanisms"``.

        Examples
        --------
        >>> ModelComparison((), (), (), (), (), {}, {}).to_dicts("mechanisms")
        []
        """
        if what not in ("layers", "products", "mechanisms"):
            raise OptionError(f"{shorten(what)} is not a table; use 'layers', 'products' or 'mechanisms'")
        return [x.to_dict() for x in getattr(self, what)]

    def to_html(self) -> str:
        """Return a page with pictures, which needs no other file."""
        return str(render("models.html", self))

    def save_html(self, path: str | Path) -> None:
        """Write the page that `to_html` returns."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def __rich__(self) -> Any:
        return render("models.rich", self)

    def _repr_html_(self) -> str:
        return str(render("models.fragment", self))

    def __str__(self) -> str:
        return str(render("models.txt", self))
