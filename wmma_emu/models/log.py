# SPDX-License-Identifier: MIT
"""The log of an emulation: every product, where in the model it is, and how sure its bits are."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from wmma_emu.display import in_columns
from wmma_emu.gemm import KOrder


@dataclass(frozen=True, slots=True)
class ProductRecord:
    """One product that was emulated.

    Parameters
    ----------
    module : str
        The module of the model, such as ``"GPT.blocks.0.mlp"``; empty outside of modules.
    operation : str
        ATen's operation, such as ``"addmm"``; a part of a longer one after a colon, ``"convolution:weight"``.
    is_backward : bool
        Whether it computes a gradient.
    shape : tuple of int
        (M, N, K).
    matrices : int
        How many products of this shape.
    a, b, out : str
        The formats of A, B and D.
    arch, instruction : str
    k_order : KOrder, optional
        None is a plain loop over ascending k.
    arithmetic : str
        The evidence for the instruction's arithmetic on the chip.
    order : str
        The evidence for the order of k: ``"recorded"``, ``"given"`` by the options, or ``"assumed"``.
    seconds : float
        The time of the emulation; only that of the call if a GPU computes, which it does while the program continues.
    engine : str
        ``"cupy"`` if a GPU multiplied; otherwise the option ``engine``.
    """

    module: str
    operation: str
    is_backward: bool
    shape: tuple[int, int, int]
    matrices: int
    a: str
    b: str
    out: str
    arch: str
    instruction: str
    k_order: KOrder | None
    arithmetic: str
    order: str
    seconds: float
    engine: str = "auto"

    @property
    def multiply_adds(self) -> int:
        """The number of multiply-adds."""
        m, n, k = self.shape
        return self.matrices * m * n * k

    @property
    def size(self) -> str:
        """The shape in text."""
        batch = f"{self.matrices} x " if self.matrices != 1 else ""
        return batch + "x".join(map(str, self.shape))


@dataclass(eq=False)
class EmulationLog(Sequence[ProductRecord]):
    """The products of an emulation in the order of their execution, and what it did not touch.

    ``str()`` is a summary, `table` has a line for each kind of product.

    Examples
    --------
    >>> print(EmulationLog())
    no matrix product was emulated
    """

    records: list[ProductRecord] = field(default_factory=list)
    untouched: Counter[str] = field(default_factory=Counter)
    operands: list[tuple[Any, ...]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __iter__(self) -> Iterator[ProductRecord]:
        return iter(self.records)

    def clear(self) -> None:
        """Forget everything."""
        self.records.clear()
        self.untouched.clear()
        self.operands.clear()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each product, as `pandas.DataFrame` takes them."""
        return [asdict(x) | {"multiply_adds": x.multiply_adds} for x in self.records]

    def covered(self) -> tuple[int, int]:
        """Return the number of products, and of multiply-adds, whose order of k is recorded."""
        found = [x for x in self.records if x.order == "recorded"]
        return len(found), sum(x.multiply_adds for x in found)

    def uncovered(self) -> Counter[str]:
        """Return the products whose order of k is not recorded: how often each shape occurs."""
        return Counter(f"{x.a} {x.size} to {x.out}" for x in self.records if x.order != "recorded")

    def table(self) -> str:
        """Return a line for each module, operation and shape, with the time of all its products."""
        merged: dict[tuple[str, ...], list[float]] = {}
        for x in self.records:
            order = x.order if x.k_order is None else f"{x.order}, {_order(x.k_order)}"
            way = "backward" if x.is_backward else "forward"
            key = (x.module, way, x.operation, x.size, f"{x.a} to {x.out}", short(x.instruction), x.arithmetic, order)
            merged.setdefault(key, []).append(x.seconds)
        head = ("module", "pass", "operation", "MxNxK", "formats", "instruction", "status", "order of k", "count", "ms")
        rows = [(*key, str(len(x)), f"{1e3 * sum(x):.1f}") for key, x in merged.items()]
        return "\n".join(in_columns([head, *rows], right=(8, 9)))

    def __str__(self) -> str:
        return "\n".join(
            [*_summary(self.records), *(f"not emulated: {x} ({n} times)" for x, n in self.untouched.items())]
        )


def short(mnemonic: str) -> str:
    """Return a mnemonic without its first words."""
    return mnemonic.removeprefix("mma.sync.aligned.").replace(".row.col", "")


def _summary(records: list[ProductRecord]) -> Iterator[str]:
    if not records:
        yield "no matrix product was emulated"
        return
    work = sum(x.multiply_adds for x in records)
    chips = ", ".join(dict.fromkeys(x.arch for x in records))
    backward = sum(x.is_backward for x in records)
    yield (
        f"{len(records)} products on {chips}, {backward} of them backward: {work:.3g} multiply-adds in "
        f"{sum(x.seconds for x in records):.2f} s"
    )
    for name, key in (("instruction", lambda x: short(x.instruction)), ("arithmetic", lambda x: x.arithmetic),
                      ("order of k", lambda x: x.order)):  # fmt: skip
        counts: Counter[str] = Counter()
        for x in records:
            counts[key(x)] += x.multiply_adds
        parts = ", ".join(f"{value} {count / max(work, 1):.0%}" for value, count in counts.most_common())
        yield f"{name}, by work: {parts}"


def _order(order: KOrder) -> str:
    """Return the fields of an order that differ from a plain loop's."""
    plain = KOrder()
    fields = {x: getattr(order, x) for x in order.__dataclass_fields__}
    return " ".join(f"{name}={value}" for name, value in fields.items() if value != getattr(plain, name)) or "plain"
