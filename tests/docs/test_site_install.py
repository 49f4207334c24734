# SPDX-License-Identifier: MIT
"""The page about installing names every extra that there is, with what it brings, and no other."""

import re
import tomllib
from pathlib import Path

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


def test_no_message_names_a_package_of_an_index_on_which_this_one_is_not():
    sources = [*(ROOT / "wmma_emu").rglob("*.py"), *(ROOT / "pytest_wmma_emu").rglob("*.py")]
    named = [x.name for x in sources if re.search(r"pip install\W+wmma", x.read_text(encoding="utf-8"))]
    assert sources and named == []


def test_the_page_says_which_python_and_what_comes_without_extras():
    assert f"Python {PROJECT['requires-python'].removeprefix('>=')} or later" in PAGE
    assert libraries(PROJECT["dependencies"]) == {"numpy", "ml_dtypes"} and "NumPy and ml_dtypes" in PAGE


def test_the_how_tos_begin_with_it_and_the_front_page_links_to_it():
    index = (ROOT / "docs/how-to/index.md").read_text(encoding="utf-8")
    assert re.search(r"\{toctree\}\n(?::\w+:.*\n)*\n(\S+)", index)[1] == "install"
    assert "(how-to/install.md)" in (ROOT / "docs/index.md").read_text(encoding="utf-8")
