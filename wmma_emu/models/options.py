# SPDX-License-Identifier: MIT
"""The options of an emulation of a library's products, checked once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from wmma_emu.arithmetic import check_engine, thread_count
from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.gemm import PRESETS, KOrder
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.suggestions import did_you_mean

ConvolutionOrder = Literal["crsc", "rsc", "crs"]
"""The order of k in a convolution: positions of the filter and channels, the last letter fastest; with two c, tiles of
64 channels first, and the channels of a tile last."""

Tf32Conversion = Literal["truncate", "rna"]
"""The conversion of float32 operands of a TF32 product: none, so that the tensor core ignores 13 bits; or
`cvt.rna.tf32.f32`."""

OrderRule = Callable[[tuple[int, int, int], int, str], "KOrder | None"]
"""A function that chooses an order of k: it takes (M, N, K), the number of matrices, and the format of A."""

MODEL_FIELDS = (
    "terms_per_step", "fraction_bits", "min_exponent", "output", "rounding", "k_order", "c_joins", "partial_sums",
)  # fmt: skip
"""The fields of a model that an emulation may change."""

LIBRARIES: Mapping[str, frozenset[str]] = {
    "torch": frozenset({"cublas", "cudnn"}),
    "cublas": frozenset({"cublas"}),
    "cudnn": frozenset({"cudnn"}),
}
"""The libraries whose recorded kernels a name of ``like=`` selects. PyTorch convolves with cuDNN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulationOptions:
    """The chip, and what its library's kernels are assumed to do.

    Parameters
    ----------
    arch : str or Arch, optional
        The chip; None computes on the host, within an emulation too.
    like : str, optional
        A library whose recorded kernels are used where a recording has the product: ``"torch"``, which multiplies
        with ``"cublas"`` and convolves with ``"cudnn"``; or one of these.
    like_chip : str, optional
        The chip whose recordings ``like`` uses; ``""`` for none. The default is ``arch``, if it has recordings. The
        recorded orders of k of one chip with the arithmetic of another are an experiment, not a kernel.
    k_order : KOrder or callable, optional
        The order of k of all other products with enough k; or a function of ``((M, N, K), matrices, format)`` that
        returns one, or None for a plain loop. Fused attention has a separate order.
    engine, threads
        As for `wmma_emu.gemm`.
    tf32_conversion : {"truncate", "rna"}
        The conversion of float32 operands to TF32.
    convolution_order : {"crsc", "rsc", "crs"}
        The order of k in a convolution: tiles of 64 channels, each with filter positions and then channels, as most
        kernels of cuDNN on an H200; filter positions, then channels; or channels, then filter positions.
    attention_tile : int
        The keys in one tile of fused attention.
    changes : mapping, optional
        Fields of `wmma_emu.DotModel` that replace the chip's, for experiments: ``{"fraction_bits": 24}``.
    model_of : mapping, optional
        Fields of the model that are taken from another chip, ``{"fraction_bits": "a100"}``; and ``"instruction"``,
        where one chip has a matrix instruction and the other multiply-adds of its CUDA cores.
    keep_operands : bool
        Whether the log keeps A and B of each product.

    Examples
    --------
    >>> EmulationOptions(arch="a100").arch.name
    'sm_80'
    """

    arch: Arch | None = field(default_factory=lambda: arch_of(DEFAULT_ARCH))
    like: str | None = None
    like_chip: str | None = None
    k_order: KOrder | OrderRule | None = None
    engine: str = "auto"
    threads: int | None = None
    tf32_conversion: Tf32Conversion = "truncate"
    convolution_order: ConvolutionOrder = "crsc"
    attention_tile: int = 128
    changes: Mapping[str, Any] = field(default_factory=dict)
    model_of: Mapping[str, str] = field(default_factory=dict)
    keep_operands: bool = False

    def __post_init__(self) -> None:
        if self.arch is not None:
            object.__setattr__(self, "arch", _chip(self.arch))
        check_engine(self.engine)
        thread_count(self.threads)
        if self.like is not None and str(self.like) not in LIBRARIES:
            library = str(self.like).partition("-")[0]  # the name of a preset begins with its library
            hint = did_you_mean(library, LIBRARIES, f"libraries with recordings are {', '.join(LIBRARIES)}")
            raise OptionError(f"like={shorten(self.like)} is not a library{hint}")
        self._check_chip_of_recordings()
        is_rule = callable(self.k_order) and not isinstance(self.k_order, type)
        if not (self.k_order is None or isinstance(self.k_order, KOrder) or is_rule):
            raise OptionError(
                f"k_order={shorten(self.k_order)} is neither a KOrder nor a function of a product's shape; pass, for "
                "example, wmma_emu.KOrder(splits=4)"
            )
        for name, legal in (("tf32_conversion", Tf32Conversion), ("convolution_order", ConvolutionOrder)):
            given = getattr(self, name)
            if given not in get_args(legal):
                raise OptionError(
                    f"{name}={shorten(given)} does not exist; use {' or '.join(map(repr, get_args(legal)))}"
                )
        self._check_tile()
        self._check_fields()

    def _check_chip_of_recordings(self) -> None:
        """Complete ``like_chip``, once ``like`` is given."""
        recorded = sorted({preset.arch for preset in PRESETS})
        if self.like_chip:
            object.__setattr__(self, "like_chip", arch_of(self.like_chip).name)
            if self.like_chip not in recorded:
                raise OptionError(f"like_chip={self.like_chip!r} has no recordings; {', '.join(recorded)} has")
        elif self.like_chip is None and self.like is not None:
            name = "" if self.arch is None else self.arch.name
            object.__setattr__(self, "like_chip", name if name in recorded else "")

    def _check_fields(self) -> None:
        for option, given in (("changes", self.changes), ("model_of", self.model_of)):
            if not isinstance(given, Mapping):
                raise OptionError(f"{option}={shorten(given)} is not a dictionary of fields of a DotModel")
            legal = [*MODEL_FIELDS, *(["instruction"] if option == "model_of" else [])]
            for name in given:
                if name not in legal:
                    hint = did_you_mean(name, legal, f"fields are {', '.join(legal)}")
                    raise OptionError(f"{option}: {shorten(name)} is not a field of a model{hint}")
        for chip in self.model_of.values():
            arch_of(chip)

    def _check_tile(self) -> None:
        tile = integer_of(self.attention_tile)
        if tile is None or tile < 16 or tile % 16:
            raise OptionError(
                f"attention_tile={shorten(self.attention_tile)} is not a positive multiple of 16 keys; kernels use 64 "
                "or 128"
            )

    @property
    def libraries(self) -> frozenset[str]:
        """The libraries whose recorded kernels are used."""
        return LIBRARIES[self.like] if self.like is not None and self.like_chip else frozenset()

    def but(self, changes: Mapping[str, Any]) -> "EmulationOptions":
        """Return the same options with others replaced.

        Raises
        ------
        CallError
            If an option does not exist.
        """
        names = list(self.__dataclass_fields__)
        for name in changes:
            if name not in names:
                hint = did_you_mean(name, names, f"the options are {', '.join(names[1:])}")
                raise CallError(f"{name}= is not an option of emulate{hint}")
        return replace(self, **changes)


def options_of(arch: str | Arch | None, given: Mapping[str, Any]) -> EmulationOptions:
    """Return the options that a user named."""
    return EmulationOptions(arch=None).but({"arch": arch, **given})


def _chip(given: object) -> Arch:
    if not isinstance(given, str | Arch):
        raise CallError(
            f"{shorten(given)} is not a chip; emulate takes its name, emulate('a100'), and returns what to use in "
            "with, as a decorator, or on a model"
        )
    return arch_of(given)
