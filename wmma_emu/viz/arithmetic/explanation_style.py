# SPDX-License-Identifier: MIT
"""The light and dark colours of bits, fields and bars in pictures of arithmetic, and the style of their page."""

NAME = "wmma-emu-explanation"
"""The class of the pictures, with which all style rules begin."""

_DAY = f"""
.{NAME} .mono {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.{NAME} .digits {{ text-anchor: middle; font-size: 11px; pointer-events: none; }}
.{NAME} .narrow {{ font-size: 9px; }}
.{NAME} .b0 {{ fill: #f0f3f6; stroke: #c9d1d9; }}
.{NAME} .b1 {{ fill: #97c9fe; stroke: #4d86bd; }}
.{NAME} .x0 {{ fill: none; stroke: #c9d1d9; stroke-dasharray: 2 2; }}
.{NAME} .x1 {{ fill: #f5c2a1; stroke: #b5622c; stroke-dasharray: 2 2; }}
.{NAME} .n1 {{ fill: #8fd7b0; stroke: #2f8a5b; }}
.{NAME} .sign {{ fill: #fedbc3; stroke: #b5622c; }}
.{NAME} .exponent {{ fill: #cef9e0; stroke: #2f8a5b; }}
.{NAME} .fraction {{ fill: #e0effe; stroke: #4d86bd; }}
.{NAME} .ignored {{ fill: none; stroke: #8c959f; stroke-dasharray: 2 2; }}
.{NAME} .strike {{ stroke: #c2403a; stroke-width: 1.2; fill: none; }}
.{NAME} .bar {{ stroke: #1b1f24; stroke-width: 2.5; fill: none; }}
.{NAME} .edge {{ stroke: #1b1f24; stroke-width: 1.5; stroke-dasharray: 4 2; fill: none; }}
"""
_NIGHT = f"""
.{NAME} .b0 {{ fill: #1c222b; stroke: #3d444d; }}
.{NAME} .b1 {{ fill: #2c5f99; stroke: #7ab6f4; }}
.{NAME} .x0 {{ stroke: #4a525c; }}
.{NAME} .x1 {{ fill: #80451d; stroke: #e9ab82; }}
.{NAME} .n1 {{ fill: #21693f; stroke: #8fd7b0; }}
.{NAME} .sign {{ fill: #6d3d1c; stroke: #e9ab82; }}
.{NAME} .exponent {{ fill: #1d5735; stroke: #8fd7b0; }}
.{NAME} .fraction {{ fill: #1c3f66; stroke: #7ab6f4; }}
.{NAME} .ignored {{ stroke: #6e7681; }}
.{NAME} .strike {{ stroke: #ff8f87; }}
.{NAME} .bar {{ stroke: #f0f6fc; }}
.{NAME} .edge {{ stroke: #f0f6fc; }}
"""
STYLES = (_DAY, _NIGHT)
"""The light and the dark style rules."""

HTML_STYLE = f"""
.{NAME}-html {{ max-width: 100%; line-height: 1.45; }}
.{NAME}-html table {{ border-collapse: collapse; margin: 0.5rem 0; text-align: left; }}
.{NAME}-html th {{ font-weight: 600; vertical-align: top; padding: 0 1rem 0.1rem 0; text-align: left; }}
.{NAME}-html td {{ padding: 0 0 0.1rem; text-align: left; overflow-wrap: anywhere; }}
.{NAME}-html summary {{ cursor: pointer; padding: 0.25rem 0; }}
.{NAME}-html figure {{ margin: 0.25rem 0 0.75rem; overflow-x: auto; }}
.{NAME}-html figure svg {{ display: block; max-width: none; }}
.{NAME}-html pre {{ overflow-x: auto; font-size: 0.85em; }}
.{NAME}-html code {{ overflow-wrap: anywhere; }}
"""
"""The style rules of the HTML around the pictures."""
