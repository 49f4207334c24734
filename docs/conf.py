# SPDX-License-Identifier: MIT
"""Sphinx: python -m sphinx -W -n -b html docs build/html."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from wmma_emu import __version__
from wmma_emu.documentation import DOCUMENTATION

project = "wmma_emu"
author = "The wmma_emu developers"
copyright = "The wmma_emu developers, MIT licence"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "docs._ext.docstrings",
    "docs._ext.keyboard",
    "docs._ext.navigation",
    "docs._ext.notebook_kernels",
    "docs._ext.repository_files",
    "docs._ext.search_words",
    "docs._ext.site",
]
exclude_patterns = ["_ext", "_static", "_templates", "evidence/README.md"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore = [("py:exc", "hypothesis.errors.InvalidArgument")]  # of another library, whose index is not here

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nb_merge_streams = True

html_theme = "furo"
html_title = "wmma_emu"
html_baseurl = DOCUMENTATION
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("reading.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_domain_indices = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/brand.html", "sidebar/search.html", "sidebar/explorer.html", "sidebar/scroll-start.html",
        "sidebar/navigation.html", "sidebar/scroll-end.html",
    ]
}  # fmt: skip
html_theme_options = {
    "navigation_with_keys": False,
}

default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_google_docstring = False
