# SPDX-License-Identifier: MIT
"""The reference of the site: every instruction once, with the numbers, layouts and models of the tables."""

import doctest
import importlib
import re
from html import unescape
from itertools import product
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest

from docs._ext.command_page import commands
from docs._ext.instruction_groups import anchor_of, group_of, groups, known_families
from docs._ext.layout_gallery import gallery, in_registers, pictured_layouts
from docs._ext.layout_pictures import pictures_of
from docs._ext.pages import generated_pages, write_pages
from docs._ext.table_pages import as_known
from wmma_emu.arithmetic import MODELS, alternatives_for, models_for
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS, lowerings, machine_instructions
from wmma_emu.instructions.spec import TENSOR_FAMILIES
from wmma_emu.layouts import layout_for, metadata_map, scale_map, scale_selectors_of

FOLDER = Path(__file__).parents[2] / "docs/_ext"
SECTION = re.compile(r"^\(([a-z0-9-]+)\)=\n## `([^`]+)`\n\n(<div class=\"instruction\">\n.*?\n</div>)$", re.M | re.S)
FIGURE = re.compile(r'^<figure class="layout" id="(layout-\d+)">\n(.*?)\n</figure>$', re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pages():
    return generated_pages()


@pytest.fixture(scope="module")
def sections(pages):
    """Page and text of every section, by the mnemonic in its heading; and its anchor."""
    found = {}
    for name, text in pages.items():
        for anchor, mnemonic, body in SECTION.findall(text):
            assert mnemonic not in found, mnemonic
            found[mnemonic] = (name, anchor, body)
    return found


def tables(text):
    """Return the cells of every table of a page, row by row, with their markup."""
    bodies = re.findall(r"<tbody>\n(.*?)\n</tbody>", text, re.DOTALL)
    return [[re.findall(r"<td>(.*?)</td>", line) for line in body.splitlines()] for body in bodies]


def plain(markup):
    return unescape(re.sub(r"<[^>]+>", "", markup))


@pytest.mark.thorough
def test_every_instruction_is_one_section_with_its_own_anchor(sections):
    assert list(sections) and set(sections) == set(INSTRUCTIONS)
    anchors = [anchor for _, anchor, _ in sections.values()]
    assert len(set(anchors)) == len(anchors) == len(INSTRUCTIONS)
    for mnemonic, (page, anchor, _) in sections.items():
        assert page == group_of(INSTRUCTIONS[mnemonic]).document and anchor == anchor_of(INSTRUCTIONS[mnemonic])


@pytest.mark.thorough
def test_no_heading_is_lost_and_no_html_is_cut_by_an_empty_line(pages):
    for group in groups():
        text = pages[group.document]
        assert text.count("\n## ") == 1 + len(group.entries)
        for body in re.findall(r"^<(?:div|figure|p)\b.*?(?=\n\n)", text, re.MULTILINE | re.DOTALL):
            tag = re.match(r"<(\w+)", body)[1]
            assert body.count(f"<{tag}") == body.count(f"</{tag}>")


@pytest.mark.thorough
def test_operands_have_the_numbers_of_the_tables(sections):
    for mnemonic, row in INSTRUCTIONS.items():
        lines = tables(sections[mnemonic][2])[0]
        assert [plain(x[0])[0] for x in lines] == ["A", "B", "C", "D"]
        for operand, (name, fmt, matrix, registers, elements, _) in zip(OPERANDS, lines, strict=True):
            bits = row.container(operand).bits
            stored = {"a": row.a_layout, "b": row.b_layout}.get(operand) if not row.is_warpgroup else None
            assert plain(name).partition(", ")[2] == (stored or "")
            assert fmt == getattr(row, operand)
            several = (4,) if row.products > 1 else ()
            assert matrix.partition(" of ")[0] == " × ".join(map(str, (*several, *row.matrix_shape(operand))))
            if not row.registers(operand):
                assert registers == "in shared memory"
                continue
            assert registers == f"{row.registers(operand)} of {max(32, bits)} bits"
            held = row.registers(operand) * max(32, bits) // bits
            cells = row.products * row.matrix_shape(operand)[0] * row.matrix_shape(operand)[1]
            copies = held * 32 * row.warps // cells
            assert elements == f"{held}" + (f", each element {copies} times" if copies > 1 else "")


def test_values_in_bytes_and_block_scales_are_where_the_tables_say(sections):
    for mnemonic, row in INSTRUCTIONS.items():
        text = plain(sections[mnemonic][2])
        for operand in "ab":
            bits, (held, shift) = row.format(operand).bits, row.container(operand)
            said = f"of {operand.upper()} in bits {shift} to {shift + bits - 1}"
            assert (said in text) == (bits < held), mnemonic
        assert ("Block scales" in text) == row.is_block_scaled, mnemonic
        if not row.is_block_scaled:
            continue
        assert f"Block scales ({row.scale}): one for {row.scale_block} columns in each row of A" in text
        rules = re.findall(r"byte y \+ j of lane ([^,;]+)", text)
        assert rules == ["4 (r mod 8) + ⌊r / 8⌋ + 2 t", "4 c + t"]
        for operand in "ab":
            legal = scale_selectors_of(row, operand)
            byte_ids, threads = (", ".join(map(str, x)) for x in legal)
            assert f"byte-id {byte_ids} and thread-id {threads} of scale_{operand}" in text
            for y, t in product(*legal):
                found = scale_map(row, operand, y, t)
                line, j = np.indices(found.lane.shape) if operand == "a" else np.indices(found.lane.shape)[::-1]
                lane = 4 * (line % 8) + line // 8 + 2 * t if operand == "a" else 4 * line + t
                assert (found.lane == lane).all() and (found.byte == y + j).all()


def chips_of(words):
    """The chips that ``sm_70 to sm_75, sm_90`` names."""
    names, found = list(ARCHS), []
    for part in words.split(", "):
        first, _, last = part.partition(" to ")
        found += names[names.index(first) : names.index(last or first) + 1]
    return found


def test_each_chip_has_its_model_and_its_machine_code_in_each_lowering(sections):
    for mnemonic, row in INSTRUCTIONS.items():
        body = sections[mnemonic][2]
        seen = {}
        for who, computes, machine in tables(body)[1]:
            names, status = who.split("<br>")
            names, _, lowering = re.sub(r" \([^)]*\)", "", names).partition(", ptxas")
            for chip in chips_of(names):
                key = (chip, f"ptxas{lowering}" if lowering else "native")
                assert key not in seen
                seen[key] = (plain(status), plain(computes), plain(machine))
        assert set(seen) == {(chip, x) for chip in row.archs for x in lowerings(row, chip)}
        for (chip, lowering), (status, computes, machine) in seen.items():
            model = next(x for x in models_for(row, chip) if x.lowering == lowering)
            code = machine_instructions(row, chip, lowering)
            assert (status, computes) == (model.status, model.describe() + model.source + model.note)
            assert machine == f"{code.text}{code.source} ({code.status}){code.note}"
        assert f"Known from: {row.source} ({row.status})." in unescape(body)


def test_sparse_instructions_and_only_they_say_where_metadata_is(sections):
    for mnemonic, row in INSTRUCTIONS.items():
        assert ("Metadata: a register" in sections[mnemonic][2]) == row.is_sparse
        if row.is_sparse:
            assert metadata_map(row).source in unescape(sections[mnemonic][2])


def test_explorer_links_name_the_instruction_and_a_chip_that_supports_it(sections):
    for mnemonic, row in INSTRUCTIONS.items():
        (fragment,) = re.findall(r'href="\.\./\.\./explorer\.html#([^"]*)"', sections[mnemonic][2])
        asked = dict(parse_qsl(unescape(fragment)))
        assert asked["i"] == mnemonic and asked["chip"] in row.archs


def coordinates(formulas, layout):
    """What the formulas of a page give for every lane and index: rows, columns, matrices, registers and bits."""
    said = dict(line.split(" = ") for line in unescape(formulas).replace("/", "//").splitlines())
    index = np.arange(layout.num_elements)[:, None]
    lane = np.arange(layout.num_lanes)[None, :]
    here = {"lane": lane, "index": index}
    zeros = np.zeros((layout.num_elements, layout.num_lanes), np.int64)
    return {x: eval(said.get(x, "0"), here) + zeros for x in ("row", "col", "matrix", "register", "bit")}


def test_the_formulas_that_an_operand_links_to_give_its_layout_on_every_chip(pages, sections):
    checked = set()
    for group in groups():
        figures = dict(FIGURE.findall(pages[group.document]))
        for row in group.entries:
            for operand, line in zip(OPERANDS, tables(sections[row.mnemonic][2])[0], strict=True):
                links = re.findall(r'href="#(layout-\d+)">(.*?)</a>', line[-1])
                assert bool(links) == bool(row.registers(operand))
                covered = []
                for anchor, text in links:
                    chips = chips_of(text.removeprefix("on ")) if text.startswith("on ") else list(row.archs)
                    covered += chips
                    (formulas,) = re.findall(r'<pre class="formulas"[^>]*>(.*?)</pre>', figures[anchor], re.DOTALL)
                    for layout in {layout_for(row, operand, chip) for chip in chips}:
                        if (formulas, layout) in checked:
                            continue
                        checked.add((formulas, layout))
                        given = coordinates(formulas, layout)
                        where = np.stack([given["row"], given["col"]], -1)
                        assert np.array_equal(where, layout.coords_of_lanes)
                        matrices = np.broadcast_to(layout.matrix_of_lane.reshape(-1), given["matrix"].shape)
                        assert np.array_equal(given["matrix"], matrices)
                        places = [layout.register_of(i) * 100 + layout.bit_of(i) for i in range(layout.num_elements)]
                        assert (given["register"] * 100 + given["bit"])[:, 0].tolist() == places
                assert not links or sorted(covered) == sorted(row.archs)
    assert {layout for _, layout in checked} == {
        layout_for(row, operand, chip)
        for row in INSTRUCTIONS.values()
        for operand in OPERANDS
        if row.registers(operand)
        for chip in row.archs
    }


def test_every_picture_is_drawn_once_and_is_the_beginning_of_the_layouts_that_it_stands_for(pages):
    layouts = pictured_layouts(groups())
    files = {name for layout in layouts for name in pictures_of(layout)}
    named = {x for text in pages.values() for x in re.findall(r'<img src="\.\./\.\./_layouts/([^"]+)"', text)}
    assert named == files and len(files) == 2 * len(layouts) > 0
    for group in groups():
        for shown in gallery(group):
            first = shown.pictured
            for layout in shown.layouts:
                assert np.array_equal(layout.coords[: first.num_elements], first.coords)
                assert layout.rows == first.rows and layout.element_bits == first.element_bits


def test_every_picture_has_an_alternative_text(pages):
    for group in groups():
        for tag in re.findall(r"<img [^>]*>", pages[group.document]):
            assert re.search(
                r'alt="(The lane and index of each element of [ABCD]|The elements of [ABCD][^"]* in each register '
                r"of each lane)",
                tag,
            )


def test_a_picture_shows_the_lane_of_each_element():
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "d", "sm_90")
    (matrix, _) = pictures_of(layout).values()
    cells = re.findall(r'<g class="cell[^>]*>', matrix)
    seen = set()
    for cell in cells:
        data = {x: int(y) for x, y in re.findall(r'data-(row|col|lane|index)="(\d+)"', cell)}
        seen.add((data["row"], data["col"]))
        assert layout.coords[data["index"], data["lane"]].tolist() == [data["row"], data["col"]]
    assert len(seen) == 16 * 8


def test_links_within_the_pages_lead_to_sections_and_figures(pages, sections):
    anchors = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in pages.items()}
    for page, anchor, _ in sections.values():
        anchors[page].add(anchor)
    for name, text in pages.items():
        folder = name.rpartition("/")[0]
        for target in re.findall(r'<a class="reference internal" href="(?!\.\.)([^"]+)"', text):
            path, _, anchor = target.partition("#")
            page = f"{folder}/{path.removesuffix('.html')}" if path else name
            assert page in pages
            assert not anchor or anchor in anchors[page], target


def test_the_index_links_to_every_instruction(pages):
    text = pages["reference/instructions/index"]
    assert sorted(re.findall(r'html#([a-z0-9-]+)"', text)) == sorted(anchor_of(x) for x in INSTRUCTIONS.values())


def test_models_chips_and_formats_are_all_there(pages):
    lines = [line for table in tables(pages["reference/tables/models"]) for line in table]
    said = [(plain(accumulator), plain(computes), plain(known)) for _, accumulator, computes, known in lines]
    pairs = [(row, chip) for row in INSTRUCTIONS.values() for chip in row.archs]
    known = {model for row, chip in pairs for model in models_for(row, chip) + alternatives_for(row, chip)}
    known |= {model for model in MODELS if model.families[0] in TENSOR_FAMILIES}
    assert sorted(said) == sorted((x.accumulator, x.describe() + x.note, x.status + x.source) for x in known)
    chips, counts, launches = tables(pages["reference/tables/chips"])
    assert [plain(x[0]) for x in chips] == [plain(x[0]) for x in counts] == [plain(x[0]) for x in launches] == [*ARCHS]
    for name, line in zip(ARCHS, counts, strict=True):
        assert int(line[-1]) == sum(name in row.archs for row in INSTRUCTIONS.values())
    formats = [plain(line[0]) for table in tables(pages["reference/tables/formats"]) for line in table]
    assert sorted(formats) == sorted([*FORMATS, "e8m13"])


def test_a_model_names_exactly_its_instructions_on_its_chip(pages):
    lines = [line for table in tables(pages["reference/tables/models"]) for line in table]
    for (cell, *_), model in zip(lines, [x for chip in ARCHS for x in as_known(chip)], strict=True):
        served = {
            (row.family, row.a, row.shape)
            for row in INSTRUCTIONS.values()
            if model.arch in row.archs and model in models_for(row, model.arch) + alternatives_for(row, model.arch)
        }
        assert plain(cell).startswith(model.families[0] if model.families[0].startswith("tcgen05") else ("mma", "w"))
        assert (f"model={model.name!r}" in plain(cell)) == bool(model.name)
        assert (f"B: {', '.join(model.b_inputs)}" in cell) == bool(model.b_inputs)
        said = set()
        for families, formats, shapes in re.findall(r"([^<>]+): ([^<>:]+)<br><small>(.*?)</small>", cell):
            alone = re.findall(r"m\d+n\d+k\d+", shapes)
            written = re.findall(r"m64nNk\d+", shapes)
            several = {x for _, _, x in served if re.sub(r"^m64n\d+", "m64nN", x) in written}
            said |= {(f, a, x) for f in families.split(", ") for a in formats.split(", ") for x in [*several, *alone]}
        assert said == served


def test_only_wmma_multiplies_integers_on_sm_72(pages):
    (line,) = [
        x[0] for x in tables(pages["reference/tables/models"].partition("## sm_72")[2])[0] if plain(x[1]) == "s32"
    ]
    assert plain(line) == "wmma.mma: s8, u8m16n16k16, m32n8k16, m8n32k16"


def test_pages_that_count_all_instructions_note_the_omitted_ones(pages):
    missing = "The instructions of `tcgen05.mma`, whose shape and types are in a descriptor, have no page"
    assert missing in pages["reference/instructions/index"] and missing in pages["reference/tables/chips"]
    assert not any(x.startswith("tcgen05") for x in known_families())
    formats = {row.format(x).name for row in INSTRUCTIONS.values() for x in OPERANDS}
    assert formats <= set(FORMATS) and formats >= {"e2m1", "e2m3", "e3m2"}


def test_a_page_begins_with_links_to_its_layouts_and_its_instructions_which_link_back(pages):
    for group in groups():
        text = pages[group.document]
        start = text.partition("\n## ")[0]
        links = re.findall(r'href="#([^"]+)"', start)
        assert links == [*(x.anchor for x in gallery(group)), *map(anchor_of, group.entries)]
        assert text.count('<a class="reference internal" href="#">Back to the top</a>') == len(group.entries)


def test_one_picture_of_each_operand_is_open_and_the_others_are_a_click_away(pages):
    for group in groups():
        figures = FIGURE.findall(pages[group.document])
        opened = [anchor for anchor, text in figures if "<summary>The picture</summary>" not in text]
        operands = [{x for _, x, _, _ in shown.uses} for shown in gallery(group) if shown.anchor in opened]
        assert sorted(x for some in operands for x in some) == sorted(in_registers(group.entries[0]))


def test_every_command_is_on_the_page_with_its_help(pages):
    text = pages["reference/tables/command-line"]
    words = list(commands())
    assert {("crosscheck",), ("explain",), ("layout",), ("list",), ("ptx", "run")} <= set(words)
    for command in words:
        name = " ".join(("wmma-emu", *command))
        assert text.count(f"\n## `{name}`\n\n```text\nusage: {name} ") == 1


@pytest.mark.thorough
def test_pages_are_written_and_those_that_are_no_more_go(pages, tmp_path):
    old = tmp_path / "reference/instructions/of-yesterday.md"
    old.parent.mkdir(parents=True)
    old.write_text("# Of yesterday\n", encoding="utf-8")
    write_pages(tmp_path)
    written = {str(x.relative_to(tmp_path)).removesuffix(".md"): x for x in tmp_path.rglob("*.md")}
    assert {name: path.read_text(encoding="utf-8") for name, path in written.items()} == pages


@pytest.mark.parametrize(
    "name", ["command_page", "instruction_groups", "layout_gallery", "layout_pictures", "markup", "table_pages"]
)
def test_the_examples_of_the_generator_hold(name):
    failed, tried = doctest.testmod(importlib.import_module(f"docs._ext.{name}"))
    assert tried and not failed


def test_nothing_generated_is_kept():
    ignored = (FOLDER.parents[1] / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"docs/reference/findings/", "docs/reference/instructions/", "docs/reference/tables/"} <= set(ignored)
