# SPDX-License-Identifier: MIT
"""The check of the built site detects faults."""

import pytest

from tools.check_site import faults

GOOD = {
    "index.html": '<h1 id="top">x</h1><a href="a/page.html#here">x</a> <a href="#top">x</a> <a '
    'href="https://x.org/">x</a>'
    '<link rel="stylesheet" href="style.css"><script src="x.js"></script><script>"<a href=nowhere>"</script>'
    '<a href="explorer.html#i=mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32&amp;chip=sm_90">x</a>',
    "a/page.html": '<section id="here"><img alt="a lane" src="../picture.svg"></section><!-- <img src="x"> -->',
    "explorer.html": "<p>x</p>",
    "picture.svg": "<svg/>",
    "style.css": "p { background: url(picture.svg) }",
    "x.js": "",
}


def site(folder, **changes):
    for name, text in (GOOD | {x.replace("_DOT_", "."): y for x, y in changes.items()}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder.resolve()


def test_nothing_is_wrong_with_a_site_that_is_right(tmp_path):
    assert faults(site(tmp_path)) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('<a href="missing.html">x</a>', "there is no missing.html"),
        ("<a href='a/page.html#there'>x</a>", "there is no anchor a/page.html#there"),
        ('<a href="#there">x</a>', "there is no anchor #there"),
        ('<a href="../outside.html">x</a>', "there is no ../outside.html"),
        ('<a href="a/page.html"></a>', "a link has no text: a/page.html"),
        ('<a class="x"\nhref="a/page.html"><span> &nbsp;\n</span></a>', "a link has no text: a/page.html"),
        ('<a href="a/page.html"><svg viewBox="0 0 9 9"></svg></a>', "a link has no text: a/page.html"),
        ('<img alt="x" src="none.svg">', "there is no none.svg"),
        ('<img src="picture.svg">', "a picture has no alt text: picture.svg"),
        ('<img alt="" src="picture.svg">', "a picture has no alt text: picture.svg"),
        ('<script src="https://cdn.x.org/x.js"></script>', "<script> loads https://cdn.x.org/x.js"),
        ('<script async="async" src=//cdn.x.org/x.js></script>', "<script> loads //cdn.x.org/x.js"),
        ('<link rel="stylesheet" href="https://x.org/font.css">', "<link> loads https://x.org/font.css"),
        ('<img alt="x" src="https://x.org/badge.svg">', "<img> loads https://x.org/badge.svg"),
        ('<p id="twice"></p><p id="twice"></p>', "the anchor 'twice' is there more than once"),
        ('<a href="explorer.html#i=mma.nothing&amp;chip=sm_90">x</a>', "the explorer has nothing to show for"),
        (
            '<a href="explorer.html#i=mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32&chip=sm_70">x</a>',
            "the explorer has nothing to show for",
        ),
    ],
)
def test_a_fault_on_a_page_is_said(tmp_path, more, said):
    (found,) = faults(site(tmp_path, index_DOT_html=GOOD["index.html"] + more))
    assert found.startswith(f"index.html: {said}")


@pytest.mark.parametrize(
    "link",
    [
        '<a href="a/page.html"><img alt="a lane" src="picture.svg"></a>',
        '<a href="a/page.html" aria-label="a lane"><svg viewBox="0 0 9 9"></svg></a>',
        '<a href="a/page.html"><code><span>x</span></code></a>',
        '<a id="line-1" name="line-2"></a>',
    ],
)
def test_a_link_with_a_picture_or_a_label_has_text_and_an_anchor_is_not_a_link(tmp_path, link):
    assert faults(site(tmp_path, index_DOT_html=GOOD["index.html"] + link)) == []


@pytest.mark.parametrize(
    ("style", "said"),
    [
        ("p { background: url('https://x.org/x.png') }", "style.css: loads https://x.org/x.png"),
        ("@import '//x.org/x.css';", "style.css: loads //x.org/x.css"),
        ("p { background: url(none.png) }", "style.css: there is no none.png"),
    ],
)
def test_a_fault_of_a_style_is_said(tmp_path, style, said):
    assert faults(site(tmp_path, style_DOT_css=style)) == [said]


def test_a_page_that_no_link_leads_to_is_said(tmp_path):
    assert faults(site(tmp_path, alone_DOT_html="<p>x</p>")) == ["alone.html: no link leads here"]


def test_a_folder_without_pages_is_rejected(tmp_path):
    assert faults(tmp_path.resolve()) == [f"{tmp_path.resolve()} has no pages"]
