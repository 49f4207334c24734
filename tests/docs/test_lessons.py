# SPDX-License-Identifier: MIT
"""The lessons: every cell runs, no exercise is answered, every solution passes its check, and wrong answers do not."""

import ast
import contextlib
import csv
import importlib.util
import io
import json
import re
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import lesson_minutes

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "docs/lessons").glob("*.ipynb"))
NAMES = [lesson.stem for lesson in LESSONS]
UNANSWERED = "not answered yet\n"
RIGHT = "right\n"
SOLVED = "the solution above: right\n"


def _guarded(comparison):
    """Write an answer to the first exercise of lesson 6: the kernel with a comparison and a branch."""
    return f'PTX.replace("mul.wide", "{comparison} @%p bra DONE; mul.wide")'


WRONG = {
    "1-fragments": {
        "ex1": [
            ("answer_1 = (11, 6)", "register 2 of lane 15"),
            ("answer_1 = (4, 11)", "expected: (row, col), row 0 to 15"),
            ("answer_1 = (-5, 4)", "expected: (row, col)"),
            ("answer_1 = (11,)", "expected: (row, col)"),
            ("answer_1 = 5", "expected: (row, col)"),
            ("answer_1 = (11.0, 4)", "expected: (row, col)"),
        ],
        "ex2": [
            ("def holder(row, col): return col * 4 + row // 2, row % 2", "48 of 64 elements are elsewhere"),
            ("def holder(row, col): return row // 2, 0", "elsewhere, the first is (0, 1)"),
            (
                "def holder(row, col): return None",
                "expected: (lane, register), lane 0 to 31 and register 0 or 1; this is None",
            ),
            ("def holder(row, col): return col * 4 + row % 4", "expected: (lane, register)"),
        ],
        "ex3": [
            ("answer_3 = (4, 2, 8)", "A[1][17]"),
            ("answer_3 = (4, 3, 9)", "the question is about the lowest one"),
            ("answer_3 = 4", "expected: (lane, register, bit)"),
            ("answer_3 = (4, 3)", "expected: (lane, register, bit)"),
        ],
        "ex4": [
            ("def place_of(row, col): return (row & 7) << 2 | (col & 15) >> 2, row >> 3, col & 3", "256 of 512"),
            (
                "def place_of(row, col): return row % 8 * 4 + col % 16 // 4, row // 8 + col // 16 * 2, col % 4",
                "&, |, << and >> of row, col and numbers only, please; here: unsupported operand type(s) for %",
            ),
            ("def place_of(row, col): return 4 * (row & 7), row >> 3, col & 3", "type(s) for *"),
            ("def place_of(row, col): return (row & 7) << 2, 1 if row & 8 else 0, col & 3", "here: a condition"),
            ("def place_of(row, col): return row & 7", "expected: (lane, register, byte)"),
            ("def place_of(row, col): return None", "expected: (lane, register, byte)"),
        ],
    },
    "2-loading": {
        "ex1": [
            ("def address(lane): return lane % 8 * 32 + lane // 8 * 16", "arrive in registers [1, 2, 3]"),
            ("def address(lane): return lane * 8", "AlignmentError"),
            ("def address(lane): return lane * 32", "0 to 511; this is 512"),
            ("def address(lane): return None", "expected: an address in bytes"),
        ],
        "ex2": [
            ("answer_2 = 128", "7 rows begin in a bank"),
            ("answer_2 = 136", "multiples of 16"),
            ("answer_2 = 176", "there is a smaller distance"),
            ("answer_2 = 112", "rows would overlap"),
            ("answer_2 = (144, 1)", "expected: an integer number of bytes"),
        ],
        "ex3": [
            ("def add_bias(c, bias): c.x[:] += bias[c.coords[:, 0, 1]][:, None]", "wrong on v100"),
            ("def add_bias(c, bias): pass", "240 of 256 elements are wrong"),
        ],
    },
    "3-arithmetic": {
        "ex1": [
            ("def cut(x, place): return math.floor(x / Fraction(2)**place) * Fraction(2)**place", "further from zero"),
            ("def cut(x, place): return x", "no multiple of"),
            ("def cut(x, place): return Fraction(0)", "drops a whole unit"),
            ("def cut(x, place): return None", "expected: a Fraction; cut(7/4, -12) gives None"),
        ],
        "ex2": [
            ("def step(a, b, c, F): return np.float32(np.dot(a, b) + c)", "of 128 elements have other bits"),
            ("def step(a, b, c, F): return step_solution(a, b, c, 24)", "of 128 elements have other bits"),
            ("def step(a, b, c, F): return None", "expected: a number"),
        ],
        "ex3": [
            ("answer_3 = (16, 25)", "of 128"),
            ("answer_3 = (8, 25)", "of 128"),
            ("answer_3 = (4, 24)", "of 128"),
            ("answer_3 = (0, 24)", "expected: (products, F), 1 to 16 products a step"),
            ("answer_3 = 8", "expected: (products, F)"),
        ],
        "ex4": [
            ("row, column = [1] * 16, [1] * 16", "both give 0x41800000"),
            ("row, column = [1], [1]", "16 numbers each"),
            ("row, column = 1, None", "16 numbers each"),
            ("row, column = ['one'] * 16, [1] * 16", "16 numbers each"),
            ("row, column = [1e9] * 16, [1] * 16", "RuntimeWarning"),
        ],
    },
    "4-formats": {
        "ex1": [
            ("answer_1 = 640", "stops at a smaller number"),
            ("answer_1 = 256.0", "stops at a larger number"),
            ("answer_1 = 'never'", "expected: a number"),
        ],
        "ex2": [
            ("answer_2 = 640", "the sum is 512"),
            ("answer_2 = 513", "the sum is 639"),
            ("answer_2 = 16", "there is a larger number"),
            ("answer_2 = 0", "expected: a number of instructions"),
        ],
        "ex3": [
            ("def split(x): return x, 0 * x", "big has bits among the low 13"),
            ("def split(x): return split_tf32(x, 1)[0], 0 * x", "off by a relative 2^-1"),
            ("def split(x): return x.astype(np.float64), x", "big is float64"),
            ("def split(x): return x", "expected: (big, small)"),
            ("def split(x): return None", "expected: (big, small)"),
        ],
    },
    "5-kernels": {
        "ex1": [
            ("answer_1 = (64, 48, 16)", "all elements are right"),
            ("answer_1 = (16, 16, 32)", "does not promise"),
            ("answer_1 = (32, 16, 0)", "expected: (M, N, K)"),
            ("answer_1 = 32", "expected: (M, N, K)"),
        ],
        "ex2": [
            ("fixed = tiled", "elements are wrong for M, N, K = (32, 16, 64)"),
            ("def fixed(t, A, B, D, M, N, K): pass", "with @we.kernel above it"),
        ],
        "ex3": [
            ("holds = True", "expected: a function"),
            ("def holds(multiply, A, B): multiply(A, B)", "forgets the last 16 of k passes"),
            (
                "def holds(multiply, A, B): assert np.allclose(multiply(A, B), A.astype(float) @ B, atol=0.1)",
                "far end of k passes",
            ),
            ("def holds(multiply, A, B): assert (multiply(A, B) == A.astype(float) @ B).all()", "a right one fails"),
        ],
    },
    "6-compiled": {
        "ex1": [
            ("guarded = PTX", "for n = 1: error: out of bounds of x"),
            (f"guarded = {_guarded('setp.gt.u32 %p, %i, %n;')}", "error: out of bounds of x"),
            (f"guarded = {_guarded('setp.lt.u32 %p, %i, %n;')}", "error: out of bounds of x"),
            (f"guarded = {_guarded('setp.ge.u32 %p, %i, %i;')}", "for n = 1, 1 numbers are not doubled"),
            (f"guarded = {_guarded('setp.ge.u32 %p, %i, %n')}", "your answer leads to"),
            ("guarded = None", "expected: a string"),
        ],
        "ex2": [
            ("answer_2 = 0", "without it, error: race on a_tile and b_tile"),
            ("answer_2 = 6", "without it, error: race"),
            ("answer_2 = -1", "numbered 0 to 7"),
            ("answer_2 = None", "numbered 0 to 7"),
        ],
        "ex3": [
            ("answer_3 = 128", "no race is found"),
            ("answer_3 = 100", "does not promise"),
            ("answer_3 = 512", "expected: K"),
        ],
    },
    "7-profiling": {
        "ex1": [
            ("answer_1 = (1, 32, 1, 4)", "step 1: the sum is right; which of the two arrays do the 32 threads share?"),
            ("answer_1 = (32, 1, 1, 1)", "step 2: 1 and 1 are not the 5 sectors of the profile"),
            ("answer_1 = (32, 4, 1, 4)", "step 1: 32 and 4 are not the 33 sectors of the profile"),
            ("answer_1 = (32, 1)", "expected: four numbers of sectors"),
        ],
        "ex2": [
            ("answer_2 = 64", "3072 conflicts; there is a width with fewer"),
            ("answer_2 = 66", "error: misaligned access to a"),
            ("answer_2 = 76", "there is a smaller width with as few"),
            ("answer_2 = 128", "expected: a number of columns"),
        ],
        "ex3": [
            ("limits = ['bank_conflicts <= 0']", "step01_naive keeps them too"),
            ("limits = ['executions <= 100000']", "step06_vectors keeps them too"),
            ("limits = ['global_sectors <= 9000']", "global_sectors is 10240; the limit is global_sectors <= 9000"),
            ("limits = ['conflicts <= 0']", "there is no counter conflicts"),
            ("limits = 'bank_conflicts <= 0'", "expected: a list of strings"),
        ],
        "ex4": [
            ("answer_4 = (4, 4)", "the loads of 4 bytes take other than 4"),
            ("answer_4 = (8, 1)", "the load of 16 bytes takes other than 1"),
            ("answer_4 = 8", "expected: two numbers of wavefronts"),
        ],
    },
}
"""By lesson and exercise: wrong answers, and words of the message about them."""

ALSO_RIGHT = {
    ("1-fragments", "ex1"): ["answer_1 = [11, 4]", "answer_1 = np.int64(11), 4"],
    ("1-fragments", "ex4"): [
        "def place_of(row, col): return [col >> 2 & 3 | (row & 7) << 2, (col & 16) >> 3 | row >> 3, 3 & col]",
    ],
    ("3-arithmetic", "ex3"): ["answer_3 = [8, 24]"],
}
"""Answers that are written in another way than the solution."""


@cache
def cells(name):
    return json.loads((ROOT / f"docs/lessons/{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


def tagged(name, tag):
    return {cell["id"]: cell for cell in cells(name) if tag in cell["metadata"].get("tags", ())}


def execute(text, namespace):
    """Run a cell; return what it prints, and draw what it shows."""
    tree = ast.parse(text)
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, "<cell>", "exec"), namespace)
        value = None if shown is None else eval(compile(ast.Expression(shown.value), "<cell>", "eval"), namespace)
        if hasattr(value, "_repr_html_"):
            assert value._repr_html_().startswith("<")
    return out.getvalue()


def need_a_compiler(name):
    if name == "7-profiling":
        pytest.importorskip("nvidia", reason="NVRTC is not installed")


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_runs_and_its_checks_tell_right_from_wrong(name, monkeypatch, tmp_path):
    need_a_compiler(name)
    monkeypatch.chdir(tmp_path)  # no clone, and an empty folder
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".hypothesis"))
    namespace = {"__name__": "__main__"}
    printed = {}
    for cell in cells(name):
        if cell["cell_type"] == "code":
            printed[cell["id"]] = execute(source(cell), namespace)
    for exercise in tagged(name, "exercise"):
        number = exercise.removesuffix("-answer")
        assert printed[f"{number}-check"] == UNANSWERED
        assert printed[f"{number}-solution"] == SOLVED
        check = source(tagged(name, "check")[f"{number}-check"])
        for answer, word in WRONG[name][number]:
            execute(answer, namespace)
            said = execute(check, namespace)
            assert word in said, answer
            assert said not in (UNANSWERED, RIGHT)
        for answer in ALSO_RIGHT.get((name, number), ()):
            execute(answer, namespace)
            assert execute(check, namespace) == RIGHT


def test_the_lesson_on_profiles_has_the_kernels_and_the_counters_of_the_examples():
    folder, book = ROOT / "examples/profiling", {cell["id"]: source(cell) for cell in cells("7-profiling")}
    assert f'LADDER = """{(folder / "matmul_ladder.cu").read_text(encoding="utf-8")}"""' in book["source"]
    with open(folder / "ladder_on_h200.csv", newline="", encoding="utf-8") as file:
        rows = [(step, *map(int, counters)) for step, *counters in list(csv.reader(file))[1:]]
    (assigned, *_) = ast.parse(book["measured"]).body
    assert ast.literal_eval(assigned.value) == {step: tuple(counters) for step, *counters in rows}


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_has_a_check_and_a_hidden_solution_below_it(name):
    order = [cell["id"] for cell in cells(name)]
    exercises = tagged(name, "exercise")
    assert len(exercises) >= 3
    for exercise in exercises:
        number = exercise.removesuffix("-answer")
        at = order.index(exercise)
        assert order[at + 1 : at + 3] == [f"{number}-check", f"{number}-solution"]
        solution = tagged(name, "solution")[f"{number}-solution"]
        assert "..." in source(exercises[exercise])
        assert "hide-input" in solution["metadata"]["tags"]
        assert solution["metadata"]["jupyter"] == {"source_hidden": True}
        assert "strict=True" in source(solution)
    assert set(WRONG[name]) == {exercise.removesuffix("-answer") for exercise in exercises}


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_can_be_fetched_from_its_own_page_and_from_the_index(name):
    title = source(cells(name)[0])
    index = (ROOT / "docs/lessons/index.md").read_text(encoding="utf-8")
    assert f"(path:{name}.ipynb)" in title and f"(path:{name}.ipynb)" in index
    assert "pip install" in index and "jupyterlab" in index


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_committed_without_outputs(name):
    for cell in cells(name):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_a_notebook_of_format_4_5(name):
    book = json.loads((ROOT / f"docs/lessons/{name}.ipynb").read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in book["cells"]:
        assert re.fullmatch(r"[a-z0-9-]{1,64}", cell["id"])
        code = {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | code


@pytest.mark.parametrize("name", NAMES)
def test_the_official_schema_takes_a_lesson(name):
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(ROOT / f"docs/lessons/{name}.ipynb", as_version=nbformat.NO_CONVERT))


@pytest.mark.parametrize("name", NAMES)
def test_the_links_of_a_lesson_lead_somewhere(name):
    for cell in cells(name):
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\((?!https?:|#)(?:path:)?([^)#]+)", re.sub(r"`[^`]*`", "", source(cell))):
                assert (ROOT / "docs/lessons" / target).exists(), target


def test_all_lessons_check_answers_with_the_same_cell():
    assert len({source(next(c for c in cells(name) if c["id"] == "judge")) for name in NAMES}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_fits_into_a_class_and_says_how_long_each_section_takes(name):
    sections = lesson_minutes.sections_of(cells(name))
    assert lesson_minutes.total_of(sections) <= lesson_minutes.MOST_MINUTES
    assert source(next(c for c in cells(name) if c["id"] == "plan")) == lesson_minutes.table_of(sections)
    assert all(section.minutes for section in sections)


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_says_how_long_it_takes(name):
    text = "\n".join(source(c) for c in cells(name) if c["cell_type"] == "markdown")
    numbers = [int(number) for number, _ in lesson_minutes.EXERCISE.findall(text)]
    assert numbers == list(range(1, len(tagged(name, "exercise")) + 1))
    assert text.count("### Exercise") == len(numbers)


def test_the_minutes_of_a_section_follow_from_its_words_cells_pictures_and_exercises():
    def text(words):
        return {"cell_type": "markdown", "id": "x", "metadata": {}, "source": [words]}

    def code(words, *tags):
        return {"cell_type": "code", "id": "x", "metadata": {"tags": tags}, "source": [words]}

    exercise = "### Exercise 1 (7 minutes)\n"
    book = [text("word " * 200 + "\n## Next\n" + "word " * 199), code("viz.draw_matrix(a)"), text(exercise), code("x")]
    book += [code("...", "exercise"), code("y " * 1000, "hide-input")]
    first, second = lesson_minutes.sections_of(book)
    assert first == ("Introduction", 1, 0) and second == ("Next", 3, 7)
    assert lesson_minutes.total_of([first, second]) == 11
    assert "| **Together** | 4 | 7 | **11** |" in lesson_minutes.table_of([first, second])


def test_the_index_says_the_exercises_and_the_minutes_of_each_lesson():
    index = (ROOT / "docs/lessons/index.md").read_text(encoding="utf-8")
    words = {3: "Three", 4: "Four"}
    for name in NAMES:
        ((exercises, minutes),) = re.findall(rf"\({name}\.ipynb\).*?(\w+) exercises, (\d+) minutes", index, re.DOTALL)
        assert exercises == words[len(tagged(name, "exercise"))]
        assert int(minutes) == lesson_minutes.total_of(lesson_minutes.sections_of(cells(name)))


def test_lesson_6_carries_the_text_of_the_example():
    text = source(next(c for c in cells("6-compiled") if c["id"] == "block-text"))
    kernel = (ROOT / "examples/ptx/compiled/block_wmma.ptx").read_text(encoding="utf-8")
    assert f'BLOCK_WMMA = """{kernel}"""' in text


TEACHERS = (ROOT / "docs/lessons/for-teachers.md").read_text(encoding="utf-8")
_NOTES = dict(re.findall(r"^## Lesson \d+: .*?\(([\w-]+)\.ipynb\)(.*?)(?=^## |\Z)", TEACHERS, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_a_teacher_reads_aims_words_wrong_answers_and_what_may_be_left_out(name):
    note = _NOTES[name]
    for head in ("**Aim.**", "**Explain.**", "**Wrong answers.**", "**May be left out.**"):
        assert head in note
    exercises = {row.split("|")[1].strip() for row in note.splitlines() if re.match(r"\| \d", row)}
    assert exercises == {str(i + 1) for i in range(len(tagged(name, "exercise")))}


@pytest.mark.parametrize("name", NAMES)
def test_the_minutes_that_a_teacher_saves_equal_the_minutes_of_the_section(name):
    minutes = {section.title: section.minutes for section in lesson_minutes.sections_of(cells(name))}
    (left_out,) = re.findall(r"\*\*May be left out\.\*\*(.*?)\n\n", _NOTES[name] + "\n\n", re.DOTALL)
    named = re.findall(r"\*([^*]+)\*\s+\((\d+)\s+minutes\)", left_out)
    assert named
    for title, said in named:
        assert minutes[title.replace("\n", " ")] == int(said)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_a_common_wrong_answer_of_the_teachers_page_gets_the_message_on_the_page(name, monkeypatch, tmp_path):
    need_a_compiler(name)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for cell in cells(name):
        if cell["cell_type"] == "code" and not {"solution", "hide-cell"} & set(cell["metadata"].get("tags", ())):
            execute(source(cell), namespace)  # as a class gets it, without the solutions
    rows = re.findall(r"^\| (\d) \| `([^`]+)` \| `([^`]+)` \|", _NOTES[name], re.MULTILINE)
    assert len(rows) >= 3
    for number, answer, said in rows:
        execute(answer.replace("\\|", "|"), namespace)  # a bar would end the table's cell
        assert execute(source(tagged(name, "check")[f"ex{number}-check"]), namespace).startswith(said), answer


def _setup(name, monkeypatch, folder, there=()):
    """Run the cell that installs missing packages, with some modules installed; return the arguments of pip."""
    ran = []
    found = {"wmma_emu": SimpleNamespace(origin="..."), "hypothesis": SimpleNamespace(origin="...")}
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: found[module] if module in there else None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command))
    monkeypatch.chdir(folder)
    execute(source(next(c for c in cells(name) if c["id"] == "setup")), {"__name__": "__main__"})
    return [command[5:] for command in ran]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_cell_installs_a_wheel_in_the_folder_of_the_notebook(name, monkeypatch, tmp_path):
    wheel = tmp_path / "wmma_emu-0.2.0-py3-none-any.whl"
    wheel.touch()
    needed = ["wmma_emu", "hypothesis"] if name == "5-kernels" else ["wmma_emu"]
    assert _setup(name, monkeypatch, tmp_path) == [[str(wheel), *needed[1:]]]
    assert _setup(name, monkeypatch, tmp_path, needed) == []


def test_the_first_cell_installs_a_clone_that_contains_the_notebook_or_is_in_its_folder(monkeypatch, tmp_path):
    assert _setup("1-fragments", monkeypatch, ROOT / "docs/lessons") == [[str(ROOT)]]
    (tmp_path / "clone/wmma_emu").mkdir(parents=True)
    (tmp_path / "clone/wmma_emu/version.py").touch()
    assert _setup("1-fragments", monkeypatch, tmp_path) == [[str(tmp_path / "clone")]]


def test_the_first_cell_takes_a_folder_of_the_packages_name_for_no_package(monkeypatch, tmp_path):
    (tmp_path / "wmma_emu/wmma_emu").mkdir(parents=True)
    (tmp_path / "wmma_emu/wmma_emu/version.py").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: SimpleNamespace(origin=None))
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command[-1]))
    monkeypatch.chdir(tmp_path)
    ran = []
    execute(source(next(c for c in cells("1-fragments") if c["id"] == "setup")), {})
    assert ran == [str(tmp_path / "wmma_emu")]


def test_the_first_cell_says_what_to_do_where_nothing_can_be_installed_from(monkeypatch, tmp_path):
    with pytest.raises(ModuleNotFoundError, match="Upload the wheel next to this notebook"):
        _setup("1-fragments", monkeypatch, tmp_path)


def test_the_first_cells_of_all_lessons_differ_only_in_the_required_packages():
    texts = {source(next(c for c in cells(name) if c["id"] == "setup")) for name in NAMES}
    assert len({re.sub(r"NEEDED = .*", "", text) for text in texts}) == 1
