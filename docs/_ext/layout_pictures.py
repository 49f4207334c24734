# SPDX-License-Identifier: MIT
"""The pictures of a layout, as files of the site: the matrix with its lanes, and the registers of each lane."""

import re
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import escape

from docs._ext.markup import relative
from wmma_emu.layouts import LaneMap
from wmma_emu.viz import draw_matrix, draw_registers

__all__ = ["PICTURES", "image", "pictures_of"]

PICTURES = "_layouts"
"""Folder of the site with the pictures."""

_VIEWS = {"matrix": draw_matrix, "registers": draw_registers}


@cache
def pictures_of(layout: LaneMap) -> dict[str, str]:
    """Draw a layout: the names of its files, and their SVG.

    A name contains the layout's shape, and a part of a hash of its elements' positions: equal layouts share a picture.
    The sources differ between the instructions and chips that use it, and are on their pages.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> from wmma_emu.layouts import layout_for
    >>> list(pictures_of(layout_for(lookup("m16n8k8.f32.tf32.tf32.f32"), "d", "sm_90")))
    ['matrix-16x8-32bit-85d0fd78.svg', 'registers-16x8-32bit-85d0fd78.svg']
    """
    places = layout.coords.tobytes() + layout.matrix_of_lane.tobytes() + bytes([layout.read_elements % 256])
    shape = f"{layout.rows}x{layout.cols}-{layout.element_bits}bit-{sha256(places).hexdigest()[:8]}"
    drawn = replace(layout, source="the sources that the page names", status="for each chip")
    return {f"{view}-{shape}.svg": str(draw(drawn)) for view, draw in _VIEWS.items()}


def image(layout: LaneMap, view: str, text: str, document: str) -> str:
    """Return the HTML of a picture with its size, so that the page does not move while the picture loads.

    If it is wider than the page it shrinks while its text is readable, and scrolls below that size.

    Parameters
    ----------
    layout : LaneMap
    view : {"matrix", "registers"}
    text : str
        The description for screen readers.
    document : str
        The page.
    """
    name, svg = next((name, svg) for name, svg in pictures_of(layout).items() if name.startswith(f"{view}-"))
    ((width, height),) = re.findall(r'^<svg [^>]*?width="(\d+)" height="(\d+)"', svg)
    least = int(width) * 4 // 5
    return (
        f'<div class="picture"><img src="{relative(document, f"{PICTURES}/{name}")}" width="{width}" '
        f'height="{height}" style="max-width: max(100%, {least}px)" loading="lazy" alt="{escape(text)}"></div>'
    )
