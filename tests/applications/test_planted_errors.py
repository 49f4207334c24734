# SPDX-License-Identifier: MIT
"""Errors planted in a backend: campaigns find those that an input can show, and shrink them to few terms."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tools.planted_errors import BEGIN, END, ERRORS, MODELS, PAGE, PLANTED, UNSEEN, AnyModel, backend, name_of, unseen
from wmma_emu.applications.campaign import mismatches as kept
from wmma_emu.gpu.campaign import crosscheck
from wmma_emu.testing import generators
from wmma_emu.warp.sparse import Extras, multiply

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def non_zero_terms(row):
    """Terms of a saved row of which anything is not zero; c counts as one."""
    indices = row["indices"] or range(len(row["a"]))
    products = sum(int(a, 16) != 0 or int(row["b"][k], 16) != 0 for a, k in zip(row["a"], indices, strict=True))
    return products + (int(row["c"], 16) != 0)


def expected_hint(model, error):
    if error.zeros_align:
        return "products that are zero take part in the alignment"
    [(field, value)] = backend(model, error).alter.items()
    return f"{field} {value} "


def one_of_each(planted):
    """Mark as slow what neither shows a model nor an error that those before it did not."""
    models, errors, rows = set(), set(), []
    for model, error in planted:
        new = model not in models or error not in errors
        models.add(model)
        errors.add(error)
        marks = [] if new else [pytest.mark.slow]
        rows.append(pytest.param((model, error), id=name_of((model, error)), marks=marks))
    return rows


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("planted", one_of_each(PLANTED))
def test_a_planted_error_is_found_and_shrunk_to_three_terms(planted, monkeypatch):
    monkeypatch.setattr(kept, "_KEPT_OF_AN_INSTRUCTION", 4)  # shrinking takes most of the time
    report = campaign(planted, 30_000)
    assert report.mismatches > 0
    check_findings(planted, report)
    assert all(non_zero_terms(x["test_row"]) <= 3 for x in report.findings)


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=name_of)
def test_a_planted_error_shows_in_a_campaign_of_ten_million(planted):
    report = campaign(planted, 10**7)
    assert report.mismatches > 100
    assert report.self_mismatches == 0
    check_findings(planted, report)
    assert min(non_zero_terms(x["test_row"]) for x in report.findings) <= 3


def campaign(planted, count):
    model, error = planted
    return crosscheck(model.mnemonic, count=count, workers=0, backend=backend(model, error))


def check_findings(planted, report):
    model, error = planted
    assert report.findings
    for finding in report.findings:
        row = finding["test_row"]
        assert finding["kind"] == "bits"
        assert finding["reproduced"]
        assert row["expected"] != row["emulated"]
        assert finding["hints"], finding["text"]
    hints = {hint for finding in report.findings for hint in finding["hints"]}
    assert any(hint.startswith(expected_hint(model, error)) for hint in hints)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("planted", UNSEEN, ids=name_of)
def test_what_no_input_shows_is_not_seen(planted):
    assert campaign(planted, 50_000).ok


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name.replace("`", ""))
def test_a_unit_without_planted_errors_is_the_emulator(model):
    """What makes the tests above mean something."""
    ins = we.instruction(model.mnemonic, arch=model.arch)
    for generator in generators.generators_of(ins.instruction):
        o = generators.draw(ins, generator, 0, 2, 3, 3)
        indices = None if o.indices is None else o.indices[:, None]
        if indices is None:
            expected = we.arithmetic.matmul(ins.product, o.a[:, None], o.b, o.c)
        else:
            expected = multiply(ins.product, o.a[:, None], o.b, o.c, Extras(indices))
        assert np.array_equal(AnyModel(model.arch).pairs(ins.instruction, ins.product, o), expected), generator


def test_zeros_that_take_part_change_nothing_where_there_are_none():
    model = MODELS[0]
    ins = we.instruction(model.mnemonic, arch=model.arch)
    o = generators.draw(ins, "normal", 0, 2, 2, 2)
    assert all((x & 0x7FFF).all() for x in (o.a, o.b))
    expected = AnyModel(model.arch).pairs(ins.instruction, ins.product, o)
    assert np.array_equal(AnyModel(model.arch, zeros_align=True).pairs(ins.instruction, ins.product, o), expected)


def test_the_table_of_the_page_names_the_planted_errors_and_nothing_else():
    page = PAGE.read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page[page.index(BEGIN) : page.index(END)].splitlines()
        if line.startswith("| ")
    ]
    assert rows[0] == ["planted error", *(x.name for x in MODELS)]
    assert [row[0] for row in rows[1:]] == [x.name for x in ERRORS]
    for error, (_, *cells) in zip(ERRORS, rows[1:], strict=True):
        for model, cell in zip(MODELS, cells, strict=True):
            word, reason = unseen(model, error)
            assert cell == word if word else re.fullmatch(r"[1-9]\.\de-[1-6]", cell), (model.name, error.name)
            assert reason in page
