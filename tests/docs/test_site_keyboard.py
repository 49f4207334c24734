# SPDX-License-Identifier: MIT
"""Boxes that may scroll are tab stops; additional search words lead to existing pages."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

pytest.importorskip("docutils")
from docs._ext.keyboard import reachable
from docs._ext.pages import generated_pages
from docs._ext.search_words import WORDS, words_of

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('<div class="highlight"><pre><span></span>x</pre></div>', "Code"),
        ('<pre class="formulas">x</pre>', "Code"),
        ('<div class="table-wrapper docutils container"><table class="docutils"><th>a</th></table></div>', "Table: a"),
        ('<div class="table-wrapper"><table class="docutils"><td>a</td></table></div>', "Table"),
        ("<table><tr><th><p>C++</p></th><th>Python</th></tr></table>", "Table: C++, Python"),
        ('<div class="picture"><img src="x.svg" alt="x"></div>', "Picture"),
        ('<p><img alt="x" src="x.svg"></p>', "Picture"),
        ('<div class="output text_html">x</div>', "Output"),
    ],
)
def test_a_box_that_may_scroll_is_a_stop_with_a_name(body, name):
    (tag,) = re.findall(r"<[^>]*data-scrolls[^>]*>", reachable(body))
    assert 'tabindex="0"' in tag and 'role="group"' in tag and f'aria-label="{name}"' in tag


@pytest.mark.parametrize("body", ["<p>x</p>", "<code>x</code>", '<p><img alt="x" src="x.png"></p>', "<predicate>"])
def test_elements_that_do_not_scroll_are_unchanged(body):
    assert reachable(body) == body


def test_a_heading_of_a_column_that_says_nothing_is_none():
    assert '<td class="head"></td><th>a</th>' in reachable('<table><th class="head"><p></p></th><th>a</th></table>')


def test_a_box_is_a_stop_once():
    once = reachable('<div class="table-wrapper"><table class="docutils"><td><pre>a</pre></td></table></div>')
    assert once.count("data-scrolls") == 2 and reachable(once) == once


@pytest.mark.thorough
def test_words_of_the_search_lead_to_pages():
    """A lesson is a notebook; pages that a build writes have their names from their generator."""
    written = {str(x.relative_to(DOCS).with_suffix("")) for end in ("md", "ipynb") for x in DOCS.rglob(f"*.{end}")}
    pages = {page for pages in WORDS.values() for page in pages}
    assert pages <= written | set(generated_pages())
    assert all(words_of(page) for page in pages)


def test_the_search_finds_words_of_two_spellings_under_both(tmp_path):
    pytest.importorskip("sphinx")
    from sphinx.application import Sphinx

    conf = (
        "from docs._ext.search_words import add_words\n\ndef setup(app):\n    app.connect('doctree-read', add_words)\n"
    )
    (tmp_path / "conf.py").write_text(conf, encoding="utf-8")
    (tmp_path / "index.rst").write_text("Quantise\n========\n\nThe behaviour; a color that is modeled.\n", "utf-8")
    Sphinx(tmp_path, tmp_path, tmp_path / "out", tmp_path / "out", "html", status=None, warning=None).build()
    index = (tmp_path / "out/searchindex.js").read_text(encoding="utf-8")
    for word in ("quantis", "quantiz", "behaviour", "behavior", "colour", "color", "model"):
        assert f'"{word}":' in index, word


@pytest.mark.parametrize("name", ["keyboard", "search_words"])
def test_the_examples_of_the_extensions_hold(name):
    failed, tried = doctest.testmod(importlib.import_module(f"docs._ext.{name}"))
    assert tried and not failed
