# SPDX-License-Identifier: MIT
"""Texture and surface objects, as a kernel's arguments: an array, and how a kernel reads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

from wmma_emu.errors import ArgumentValueError, OptionError, shorten
from wmma_emu.ptx.textures.facts import FACTS
from wmma_emu.ptx.textures.texels import Texels, texels_of
from wmma_emu.spellings import as_spelled
from wmma_emu.suggestions import did_you_mean

FIRST_HANDLE, HANDLE_STEP = 0x1_7A00_0000_0000, 16
"""Handles are numbers without memory, above the addresses of the host and apart from the emulator's own: a kernel that
uses one as an address gets a finding."""

_handles = count(FIRST_HANDLE, HANDLE_STEP)

FILTERS = ("point", "linear")
ADDRESSES = ("clamp", "border", "wrap", "mirror")
COORDINATES = ("texels", "normalised")
READS = ("element", "normalised")
_MOST_AXES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A surface object: made by `surface`.

    Attributes
    ----------
    texels : Texels
        The array and its shape in texels.
    handle : int
        The 64-bit value that a kernel gets.
    """

    texels: Texels
    handle: int = field(default_factory=lambda: next(_handles))

    @property
    def array(self) -> NDArray[Any]:
        """The array of the user."""
        return self.texels.array

    def __repr__(self) -> str:
        return f"surface({self.texels.shown})"


@dataclass(frozen=True, slots=True, eq=False)
class Texture:
    """A texture object: made by `texture`.

    Attributes
    ----------
    texels : Texels
        The array and its shape in texels.
    filter, coordinates, read : str
    address : tuple of str
        The address mode of each axis: x, y, z.
    linear : bool
    handle : int
        The 64-bit value that a kernel gets.
    """

    texels: Texels
    filter: str
    address: tuple[str, ...]
    coordinates: str
    read: str
    linear: bool
    handle: int = field(default_factory=lambda: next(_handles))

    @property
    def array(self) -> NDArray[Any]:
        """The array of the user."""
        return self.texels.array

    @property
    def gives_floats(self) -> bool:
        """Whether a fetch returns f32; else it returns integers of the elements' sign."""
        return self.read == "normalised" or self.texels.kind == "f"

    @property
    def caveats(self) -> tuple[str, ...]:
        """The reasons why fetches with f32 coordinates are not proved to be bit-exact."""
        return (FACTS["products"].caveat,) if self.filter == "linear" and len(self.address) == 3 else ()

    def __repr__(self) -> str:
        modes = ", ".join(self.address)
        return f"texture({self.texels.shown}, {self.filter}, {modes}, {self.coordinates}, read as {self.read})"


TextureObject = Texture | Surface

_Object = TypeVar("_Object", bound=TextureObject)


class MappedObject(NamedTuple, Generic[_Object]):
    """An object of a launch, and the generic address of the first byte of its array."""

    object: _Object
    address: int


def moved(value: _Object, move: Callable[[NDArray[Any]], NDArray[Any]]) -> _Object:
    """Return an object with the same handle on another array of the same shape."""
    return replace(value, texels=replace(value.texels, array=move(value.array)))


def texture(
    array: NDArray[Any],
    *,
    channels: int | None = None,
    layers: bool = False,
    filter: str = "point",
    address: str | Sequence[str] = "clamp",
    coordinates: str = "texels",
    read: str = "element",
    linear: bool = False,
) -> Texture:
    """Make a texture object of an array, to pass where a kernel takes a ``cudaTextureObject_t``.

    Parameters
    ----------
    array : array
        The texels, (width,), (height, width) or (depth, height, width), of 8, 16 or 32-bit integers, float16 or
        float32. The texture reads this array, not a copy: what a launch writes to it, the next launch reads.
    channels : {1, 2, 4}, optional
        The length of a last axis with the channels of each texel: an (H, W, 4) array of uint8 is one of ``uchar4``.
        Without it there is no such axis, and texels have one channel.
    layers : bool
        Whether the first axis counts layers, of one or two dimensions.
    filter : {"point", "linear"}
        ``cudaFilterModePoint`` or ``cudaFilterModeLinear``; the latter needs texels that are read as floats.
    address : {"clamp", "border", "wrap", "mirror"} or sequence of them
        The address mode, of all axes or of x, y, z. As in CUDA, "wrap" and "mirror" are "clamp" unless coordinates are
        normalised; the border is 0.
    coordinates : {"texels", "normalised"}
        "normalised": ``normalizedCoords`` is set, and coordinates from 0 to 1 cover the texture.
    read : {"element", "normalised"}
        "normalised": ``cudaReadModeNormalizedFloat``, 8 and 16-bit integers are fractions from 0 or -1 to 1.
    linear : bool
        Whether the texture is on linear memory (``cudaResourceTypeLinear``), which ``tex1Dfetch`` reads.

    Raises
    ------
    ArgumentError
        If CUDA has no texture of such an array.
    OptionError
        If a word is not one of those above, or the texture cannot be filtered.

    Examples
    --------
    >>> import numpy as np
    >>> t = texture(np.zeros((8, 16, 4), np.uint8), channels=4, filter="linear", read="normalised")
    >>> t
    texture(16 x 8 texels of 4 uint8, linear, clamp, clamp, texels, read as normalised)
    >>> t.texels.extents, t.texels.texel_bytes
    ((16, 8), 4)
    """
    texels = texels_of(array, channels, layers, "a texture")
    axes = len(texels.extents)
    if not isinstance(linear, bool):
        raise OptionError(f"linear={shorten(linear)} is neither True nor False")
    normalised = _word("coordinates", coordinates, COORDINATES)
    modes = _modes(address, axes)
    if normalised == "texels":
        modes = tuple("clamp" if x in ("wrap", "mirror") else x for x in modes)
    filtering, reading = _word("filter", filter, FILTERS), _word("read", read, READS)
    made = Texture(texels, filtering, modes, normalised, reading, linear)
    _require_legal(made)
    return made


def surface(array: NDArray[Any], *, channels: int | None = None, layers: bool = False) -> Surface:
    """Make a surface object of an array, to pass where a kernel takes a ``cudaSurfaceObject_t``.

    A kernel reads and writes the array through it; as for pointers, the results are copied back when the launch ends.

    Parameters
    ----------
    array : array
        The texels, (width,), (height, width) or (depth, height, width), of 8, 16 or 32-bit integers, float16 or
        float32.
    channels, layers
        As for `texture`.

    Raises
    ------
    ArgumentError
        If CUDA has no surface of such an array.

    Examples
    --------
    >>> import numpy as np
    >>> surface(np.zeros((8, 16), np.float32))
    surface(16 x 8 texels of 1 float32)
    """
    return Surface(texels_of(array, channels, layers, "a surface"))


def _modes(address: str | Sequence[str], axes: int) -> tuple[str, ...]:
    if not isinstance(address, list | tuple):
        return (_word("address", address, ADDRESSES),) * axes
    if not axes <= len(address) <= _MOST_AXES:
        some = f"{len(address)} address mode{'s' * (len(address) != 1)}"
        raise OptionError(
            f"address={shorten(address)} names {some}; the texture has {axes} ax{'i' if axes == 1 else 'e'}s: name one "
            f"for all, or one for each of x, y and z"
        )
    return tuple(_word("address", x, ADDRESSES) for x in address)[:axes]


def _word(name: str, given: object, legal: Sequence[str]) -> str:
    found = as_spelled(given, legal) if isinstance(given, str) else None
    if found not in legal:
        words = ", ".join(map(repr, legal))
        raise OptionError(f"{name}={shorten(given)} is not one of {words}{did_you_mean(given, legal, '')}")
    return str(found)


def _require_legal(made: Texture) -> None:
    texels = made.texels
    if made.read == "normalised" and (texels.kind == "f" or texels.element_bytes == 4):
        raise OptionError(
            f"read='normalised' is for integers of 8 and 16 bits, not {texels.array.dtype}: use read='element'"
        )
    if made.filter == "linear" and not made.gives_floats:
        raise OptionError(
            f"filter='linear' is for texels that are read as floats, not {texels.array.dtype}: use read='normalised' "
            "for integers of 8 and 16 bits, or filter='point'"
        )
    if made.linear and (len(texels.extents) != 1 or texels.layers is not None):
        raise ArgumentValueError(f"linear=True is for arrays of one dimension, not {texels.shown}")
    if made.linear and (made.filter == "linear" or made.coordinates == "normalised"):
        raise OptionError("a texture on linear memory is read by integers: neither filtered nor normalised")
