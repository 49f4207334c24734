# SPDX-License-Identifier: MIT
"""Pictures as PNG, by resvg (the extra ``png``), with an installed font."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from wmma_emu.documentation import how_to_install
from wmma_emu.errors import ArgumentValueError, BackendUnavailableError, shorten

_SANS = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "Segoe UI", "Ubuntu", "Roboto",
         "FreeSans", "Latin Modern Sans")  # fmt: skip
_MONOSPACED = ("DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", "Courier New", "Menlo", "Consolas",
               "Ubuntu Mono", "FreeMono", "Latin Modern Mono")  # fmt: skip
"""Font families to look for: no generic family exists on every system."""

_PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="16" font-family="{}">M</text></svg>'

_LARGEST = 20


def png_of(svg: str, scale: float = 2) -> bytes:
    """Render a picture in its light colours, with ``scale`` pixels per pixel of the SVG."""
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0.1 <= scale <= _LARGEST:
        raise ArgumentValueError(f"the scale of a PNG must be a number from 0.1 to {_LARGEST}, not {shorten(scale)}")
    painter, fonts = _painter(), _font_folders()
    sans = _found(_SANS)
    if sans is None:
        raise BackendUnavailableError(
            f"PNG needs a font, and none of {', '.join(_SANS)} is installed; install one (Debian and Ubuntu: "
            "fonts-dejavu-core), or save the picture as .svg or .tex"
        )
    mono = _found(_MONOSPACED) or sans
    painted = painter.svg_to_bytes(
        svg_string=svg, zoom=float(scale), font_dirs=fonts, sans_serif_family=sans, monospace_family=mono,
        font_family=sans, background="#ffffff",
    )  # fmt: skip
    return bytes(painted)


def _painter() -> ModuleType:
    try:
        return import_module("resvg_py")
    except ImportError:
        raise BackendUnavailableError(
            f"PNG needs resvg-py, from the extra png: {how_to_install('png')}. Without it pictures are saved as .svg, "
            ".html or .tex"
        ) from None


def _font_folders() -> list[str]:
    """Return font folders in addition to the system's: Matplotlib contains DejaVu Sans."""
    spec = find_spec("matplotlib")
    places: Iterable[str] = spec.submodule_search_locations or () if spec else ()
    return [str(Path(x) / "mpl-data" / "fonts" / "ttf") for x in places]


@cache
def _found(families: tuple[str, ...]) -> str | None:
    """Return the first family in which a letter is visible."""
    paint, fonts = _painter().svg_to_bytes, _font_folders()
    blank = bytes(paint(svg_string=_PROBE.format("no such family").replace("M", " ")))
    for family in families:
        if bytes(paint(svg_string=_PROBE.format(family), font_dirs=fonts)) != blank:
            return family
    return None
