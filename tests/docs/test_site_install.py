# SPDX-License-Identifier: MIT
"""The documented installations are possible today; the page on installation names every extra and its packages."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from wmma_emu import documentation
from wmma_emu.version import __version__

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

ROWS = {name: brings for name, brings in re.findall(r"^\| `(\w+)` \| .*? \| ([^|]*) \|$", PAGE, re.MULTILINE)}


def libraries(requirements):
    return {re.match(r"[\w-]+", x)[0] for x in requirements}


def test_every_extra_has_its_row_and_no_other_has_one():
    assert list(ROWS) and set(ROWS) == set(EXTRAS)


def test_a_row_names_libraries_that_its_extra_brings():
    for name in ("cli", "fast", "png", "hypothesis", "triton", "distributed", "gpu", "gpu12"):
        brought = {re.sub(r"-cuda1\dx$", "", x) for x in libraries(EXTRAS[name])}
        brought |= {"distributed"} if any("distributed]" in x for x in EXTRAS[name]) else set()
        assert set(ROWS[name].split(", ")) == brought, name
    assert set(ROWS["docs"].split(", ")) < libraries(EXTRAS["docs"])
    assert all(x.startswith("nvidia-cuda-") and ">=13" in x for x in EXTRAS["nvrtc"])


OTHERS = (
    "jax jupyter_server jupyterlab jupyterlite-core jupyterlite-pyodide-kernel nvidia-cuda-nvdisasm pytest torch "
    "triton ziglang"
).split()
"""Packages that pages name in addition to those of pyproject.toml. All of these were on PyPI on 2026-11-27."""

SERVED = ("docs/how-to/teach-with-notebooks.md", "wmma-emu")
"""The name of the wheel on a JupyterLite site."""

_COMMAND = re.compile(r"\bpip3? install\b((?:[ \t]+|[ \t]*\n[ \t>#]*)(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s`'\"|;&()]+))*")


def _texts():
    """Every page but those of evidence, which say what was, and every file that has messages or commands."""
    folders = ("docs", "wmma_emu", "pytest_wmma_emu", "tools", ".github", ".binder", "examples")
    paths = [y for x in folders for y in (ROOT / x).rglob("*") if y.suffix in (".md", ".py", ".yml", ".ipynb")]
    paths += [*ROOT.glob("*.md"), ROOT / ".ci/run", ROOT / ".binder/postBuild"]
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("docs/evidence/") and name != "CHANGELOG.md":
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".ipynb":
                text = "\n".join("".join(x["source"]) for x in json.loads(text)["cells"])
            yield name, text


def _commands(text):
    """Return the words after each ``pip install`` on a separate line, between backquotes, or in a message."""
    for found in _COMMAND.finditer(text):
        quoted = text[: found.start()].rpartition("`")[0].count("`") % 2 and "`" in text[found.end() :]
        words = found[0].partition("install")[2]
        yield shlex.split(words if quoted else words.partition("\n")[0], comments=True)


def _wrong(words, page):
    """Requirements that cannot be met today."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    known = {x for row in [*EXTRAS.values(), PROJECT["dependencies"], *groups.values()]
             for x in libraries([y for y in row if isinstance(y, str)])} - {"wmma-emu"}  # fmt: skip
    ends = next(
        (i for i, x in enumerate(words) if x.endswith((",", ":")) or (x != "." and x.endswith("."))), len(words)
    )
    words = iter(words[: ends + 1])  # the sentence continues after that
    for word in words:
        word = word if word == "." else word.rstrip(".,:")
        if word in ("-r", "--group", "--index-url", "-w"):
            value = next(words)
            if word == "--group" and value.rstrip(".,:") not in groups:
                yield value
        elif word.startswith("-") or not word or (page, word) == SERVED:
            continue
        elif local := re.fullmatch(r"\.?(?:\[([\w,]+)\])?", word):
            yield from (f".[{x}]" for x in (local[1] or "").split(",") if x and x not in {*EXTRAS, "EXTRA"})
        elif wheel := re.search(r"wmma_emu-(.*)-py3-none-any\.whl(?:\[([\w,]+)\])?$", word):
            if wheel[1] != __version__ or {*(wheel[2] or "").split(",")} - {*EXTRAS, ""}:
                yield word
        elif re.match(r"[\w-]+", word) and re.match(r"[\w-]+", word)[0] not in {*known, *OTHERS, "pip", "NVIDIA"}:
            yield word


TEXTS = {name: commands for name, text in _texts() if (commands := [x for x in _commands(text) if x])}


@pytest.mark.parametrize("page", TEXTS)
def test_what_is_told_to_be_installed_can_be(page):
    assert [y for words in TEXTS[page] for y in _wrong(words, page)] == []


def test_pages_and_messages_are_looked_at():
    assert {"README.md", "CONTRIBUTING.md", "docs/how-to/install.md", "wmma_emu/documentation.py"} <= set(TEXTS)
    assert sum(map(len, TEXTS.values())) > 40


@pytest.mark.parametrize(
    ("command", "wrong"),
    [("wmma-emu[nvrtc]", ["wmma-emu[nvrtc]"]), ("wmma_emu", ["wmma_emu"]), ("'.[nvtrc]'", [".[nvtrc]"]),
     ("-e '.[test]'", []), (". torch", []), ("--group browsers", ["browsers"]), ("trition", ["trition"]),
     ("dist/wmma_emu-0.0.1-py3-none-any.whl", ["dist/wmma_emu-0.0.1-py3-none-any.whl"])],
)  # fmt: skip
def test_a_name_that_cannot_be_installed_is_noticed(command, wrong):
    (words,) = _commands(f"`pip install {command}`")
    assert list(_wrong(words, "page")) == wrong


def test_requirements_on_pages_name_the_wheel_of_this_version():
    page = (ROOT / "docs/how-to/run-in-ci-without-a-gpu.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"<!-- file: requirements-test.txt -->\n```text\n(.*?)```", page, re.DOTALL)
    assert [y for x in listed.splitlines() for y in _wrong([x], "page")] == []
    assert f"wmma_emu-{__version__}-py3" in listed


def test_one_function_makes_every_message_about_an_extra():
    sources = [x for x in (ROOT / "wmma_emu").rglob("*.py") if x.name != "documentation.py"]
    assert [x.name for x in sources if re.search(r"pip install '\.", x.read_text(encoding="utf-8"))] == []


def test_addresses_are_the_same_wherever_they_are_written():
    """There are none yet. Once `wmma_emu.documentation` has them, the package's and the citation's are these."""
    urls = {"Documentation": documentation.DOCUMENTATION, "Repository": documentation.REPOSITORY}
    assert PROJECT.get("urls", {}) == {name: address for name, address in urls.items() if address}
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for key, address in (("url", documentation.DOCUMENTATION), ("repository-code", documentation.REPOSITORY)):
        assert re.findall(rf"^{key}: \"?([^\"\n]*)", citation, re.MULTILINE) == [address][: bool(address)]


def test_the_page_says_which_python_and_what_comes_without_extras():
    assert f"Python {PROJECT['requires-python'].removeprefix('>=')} or later" in PAGE
    assert libraries(PROJECT["dependencies"]) == {"numpy", "ml_dtypes"} and "NumPy and ml_dtypes" in PAGE


def test_the_how_tos_begin_with_it_and_the_front_page_links_to_it():
    index = (ROOT / "docs/how-to/index.md").read_text(encoding="utf-8")
    assert re.search(r"\{toctree\}\n(?::\w+:.*\n)*\n(\S+)", index)[1] == "install"
    assert "(how-to/install.md)" in (ROOT / "docs/index.md").read_text(encoding="utf-8")
