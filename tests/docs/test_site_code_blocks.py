# SPDX-License-Identifier: MIT
"""Every block of code on every page runs: here, or in the test that is named, or a reason says why it does not.

A block that is new, and that nothing runs, fails.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import wmma_emu as we
from tests.docs import test_pages
from wmma_emu.cli import main

ROOT = Path(__file__).parents[2]
GENERATED = ("docs/reference/findings", "docs/reference/instructions", "docs/reference/tables")
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("docs/**/*.md")])
    if not str(path.relative_to(ROOT)).startswith(GENERATED)
}

TESTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests/docs").glob("test_*.py"))
    if path.name != Path(__file__).name
}

_GPU = "needs an NVIDIA GPU; tests/gpu run the same with one"
_SAMPLES = "needs NVIDIA's samples, which are not ours to copy; tools/run_nvidia_samples.py runs them"
_INSTALLS = "installs packages"
_PTXAS = "needs ptxas, and PTX of other projects; its results are rows of tests/ptx/program/test_fusions.py"
_EXAMPLE = "tests/docs/test_translation.py: it is the kernel of the example, which tests/examples run"

NOT_RUN = {
    ("README.md", "python3 -m venv"): ".ci/run runs all three commands of the README in a fresh environment",
    ("examples/README.md", "python examples/naive_wmma.py"): "tests/examples runs every example",
    ("examples/README.md", "nvcc -arch=sm_90"): "needs nvcc and a GPU; its results are in tests/data/sm90_examples.npz",
    ("docs/how-to/train-in-fp8-on-a-laptop.md", "python examples/models"): "tests/examples runs it, for fewer steps",
    ("examples/profiling/README.md", "python examples/profiling"): "tests/examples/test_profiling.py runs it",
    ("examples/profiling/README.md", "step "): "tests/examples/test_profiling.py compares it",
    ("docs/evidence/README.md", "wmma-emu crosscheck"): _GPU,
    ("docs/evidence/contraction-2026-11-23.md", "python -m tools.compare_contraction"): _PTXAS,
    ("docs/evidence/profiles-of-public-kernels-2026-11-28.md", "8_kernel"): "needs other projects' kernels",
    ("docs/evidence/profiles-of-public-kernels-2026-11-28.md", "attention"): "needs other projects' kernels",
    ("docs/evidence/tensor-maps-2026-11-28.md", "python -m pytest"): "runs tests, which the suite runs",
    ("docs/explanation/blackwell.md", "wmma-emu crosscheck"): _GPU,
    ("docs/explanation/blackwell.md", "from functools import partial"): _GPU,
    ("docs/explanation/library-kernels.md", "python -m tools.record_cublas"): _GPU,
    ("docs/explanation/library-kernels.md", "python -m tools.model_products"): _GPU,
    ("docs/explanation/library-kernels.md", "python -m tools.probe_k_order"): _GPU,
    ("docs/evidence/model-products-2026-11-28.md", "python -m tools.model_products"): _GPU,
    ("docs/evidence/model-products-2026-11-28.md", "python -m tools.record_convolutions"): _GPU,
    ("docs/explanation/library-kernels.md", "python -m tools.fit_k_order"): "takes minutes",
    ("docs/explanation/library-kernels.md", "python -m tools.check_cublas"): "tests/gemm/test_presets.py does the same",
    ("docs/how-to/install.md", "ENV WMMA_EMU_CACHE"): "of an image of a container",
    ("docs/explanation/rules-of-thumb.md", "int lane = threadIdx.x"): "tests/docs/test_rules_of_thumb.py compiles it",
    ("docs/how-to/crosscheck-with-a-gpu.md", "pip install"): _INSTALLS,
    ("docs/how-to/crosscheck-with-a-gpu.md", "wmma-emu crosscheck"): _GPU,
    ("docs/how-to/crosscheck-with-a-gpu.md", "import wmma_emu as we"): _GPU,
    ("docs/how-to/find-out-what-a-gpu-does.md", "from functools import partial"): _GPU,
    ("docs/evidence/refused-kernels-2026-11-27.md", "python -m tools.refused_kernels"): "needs the compiled kernels",
    ("docs/evidence/languages-numba-cuda-2026-11-28.md", "python -m tools.peers.numba_cuda"): "needs numba-cuda",
    ("docs/evidence/models-2026-11-28.md", "python -m benchmarks.models"): "needs PyTorch, and takes minutes",
    ("docs/evidence/machines-2026-11-28.md", "python -m tools.compare_machines"): "takes minutes, and needs checkouts",
    ("docs/evidence/drawn-launches-2026-11-28.md", "python -m tools.drawn_launches"): "needs the compiled kernels",
    ("docs/evidence/drawn-launches-2026-11-28.md", "python -m tools.launch_bundles"): "needs the bundles, and a GPU",
    ("docs/evidence/hopper-libraries-2026-11-28.md", "python -m tools."): "needs the libraries, and a GPU",
    ("docs/evidence/hopper-libraries-2026-11-28.md", "OUT/record.sh"): _GPU,
    ("docs/evidence/hopper-programs-2026-11-28.md", "python -m tools."): "needs CUTLASS, nvcc and a GPU",
    ("docs/evidence/hopper-programs-2026-11-28.md", "OUT/record.sh"): _GPU,
    ("docs/evidence/launch-limits-2026-11-27.md", "python -m tools.measure_launch_limits"): "takes many minutes",
    ("docs/evidence/languages-2026-11-28.md", "python -m tools.language_programs"): "needs PyTorch and other projects",
    ("docs/evidence/languages-libraries-2026-11-28.md", "python -m tools.language_programs"): "as above",
    ("docs/evidence/languages-libraries-2026-11-28.md", "import torch, helion"): "needs Helion, and shows its error",
    ("docs/evidence/languages-2026-11-28.md", "python -m tools.bundle_launcher"): "needs the bundles, and a GPU",
    ("docs/evidence/languages-2026-11-28.md", "python -m tools.launch_bundles"): "needs the bundles, and a recording",
    ("docs/how-to/run-a-torch-compile-program.md", "TORCHINDUCTOR_MAX"): "train.py is the reader's",
    ("docs/how-to/run-a-torch-compile-program.md", "wmma_emu: 3 launches"): "tests/languages/inductor see to notes",
    ("docs/evidence/languages-inductor-2026-11-28.md", "python -m tools.inductor"): "needs PyTorch and its tests",
    ("docs/evidence/languages-inductor-2026-11-28.md", "python -m tools.launch_bundles"): "needs bundles and a GPU",
    ("docs/how-to/run-a-triton-program.md", "wmma_emu: 1 launch"): "its seconds differ; tests/languages see to reports",
    ("docs/how-to/install.md", "python3 -m venv"): _INSTALLS,
    ("docs/how-to/install.md", ". .venv/bin/activate"): _INSTALLS,
    ("docs/how-to/install.md", "pip install"): _INSTALLS,
    ("docs/how-to/install.md", "nvcc -ptx"): "nvcc is not everywhere; tests/ptx/cuda runs it where it is",
    ("docs/how-to/install.md", "wmma-emu ptx explain kernel.ptx"): "the block above it makes the file",
    ("docs/how-to/make-a-kernel-fast.md", "wmma-emu ptx profile"): "tests/docs/test_profile_pages.py runs it",
    ("docs/how-to/measure-the-coverage-of-a-kernel.md", "pytest "): "tests/ptx/launch/test_pytest_profiles.py runs it",
    ("docs/how-to/live-with-findings.md", "pytest "): "tests/ptx/launch/test_pytest_files.py runs the same options",
    ("docs/how-to/live-with-findings.md", "name: kernels"): "runs on a code host",
    ("docs/how-to/live-with-findings.md", "python -c"): "AT_HAND runs it, for the commands after it",
    ("docs/how-to/test-a-kernel-without-a-gpu.md", "python -c"): "AT_HAND runs it, for the commands after it",
    ("docs/how-to/install.md", 'eval "$(wmma-emu completion'): "tests/cli/test_completion.py runs the scripts",
    ("docs/how-to/install.md", "wmma-emu completion fish"): "tests/cli/test_completion.py runs the scripts",
    ("docs/how-to/record-vectors.md", "OUT=out bash tools/on_gpu.sh"): _GPU,
    ("docs/how-to/record-vectors.md", "python -m tools."): _GPU,
    ("docs/how-to/record-vectors.md", "from tools.recordings import"): "the names in it are the reader's to fill in",
    ("docs/how-to/run-nvidia-samples.md", "git clone"): _SAMPLES,
    ("docs/how-to/run-nvidia-samples.md", "pip download"): _INSTALLS,
    ("docs/how-to/run-nvidia-samples.md", "python -m tools.run_nvidia_samples"): _SAMPLES,
    ("docs/how-to/run-nvidia-samples.md", "cd "): _SAMPLES,
    ("docs/how-to/run-nvidia-samples.md", "sed -E"): _SAMPLES,
    ("docs/how-to/run-nvidia-samples.md", "nvcc -ptx"): _SAMPLES,
    ("docs/how-to/run-nvidia-samples.md", "module = we.ptx.Module"): _SAMPLES,
    ("docs/how-to/run-nvidia-samples.md", "race: line 888"): _SAMPLES,
    ("docs/how-to/translate-a-wmma-kernel.md", 'extern "C" __global__ void naive_wmma'): _EXAMPLE,
    ("docs/how-to/translate-a-wmma-kernel.md", "@we.kernel"): _EXAMPLE,
    ("docs/how-to/use-many-machines.md", "dask "): "starts servers; the page's script starts its own cluster",
    ("docs/how-to/teach-with-notebooks.md", "python3 -m "): _INSTALLS,
    ("docs/how-to/teach-with-notebooks.md", "pip install"): _INSTALLS,
    ("docs/how-to/teach-with-notebooks.md", ".binder/postBuild"): _INSTALLS,
    ("docs/how-to/teach-with-notebooks.md", "jupyter lab"): "starts a server",
    ("docs/how-to/teach-with-notebooks.md", "python -m tools.lite_site"): "needs JupyterLite",
    ("docs/how-to/teach-with-notebooks.md", "python -m http.server"): "starts a server",
    ("docs/index.md", "python3 -m venv"): _INSTALLS,
    ("docs/index.md", "pip install"): _INSTALLS,
    ("docs/start/test-a-kernel.md", "pip install"): _INSTALLS,
    ("docs/lessons/index.md", "python3 -m venv"): _INSTALLS,
    ("docs/lessons/index.md", "pip install"): _INSTALLS,
    ("docs/lessons/index.md", "jupyter lab"): "starts a server; the site's build executes the notebooks",
    ("docs/tutorials/test-a-kernel-without-a-gpu.md", "python3 -m venv"): _INSTALLS,
    ("docs/tutorials/test-a-kernel-without-a-gpu.md", "pip install"): _INSTALLS,
}
"""Commands and blocks that are not run here, by page and beginning, with the reason."""

RECORDED = {
    "docs/evidence/findings-before-and-after-2026-11-23.md": "what two revisions printed on that day",
    "docs/evidence/first-hour-2026-11-23.md": "what two revisions printed on that day",
}
"""Pages of evidence whose blocks are recorded output, with the reason why nothing runs them."""

DIRECTIVES = {"container", "eval-rst", "glossary", "include", "raw", "toctree"}
"""Blocks that are for Sphinx: ``{toctree}``."""


class Block(NamedTuple):
    """A fenced block: its page, the comment before it, its language, its text."""

    page: str
    mark: str
    language: str
    text: str

    @property
    def first(self) -> str:
        return next((line for line in self.text.splitlines() if line.strip()), "")

    def __str__(self) -> str:
        return f"{self.page}: {self.first[:60]}"


_FENCE = re.compile(
    r"(?:^<!-- ([^\n]*?) -->\n+)?^([ ]*)(`{3,}|~{3,}|:{3,})([^\n`]*)\n(.*?)^\2\3[ ]*$", re.MULTILINE | re.DOTALL
)


def blocks_of(page):
    """Return the blocks of a page, those that stand within containers of the site too."""
    text = PAGES[page]
    text = re.sub(r"^:{3,}.*\n", "", text, flags=re.MULTILINE)
    return [Block(page, mark, language.strip(), body) for mark, _, _, language, body in _FENCE.findall(text)]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def the_test_of(block):
    """Return the test that takes a block by its mark, ``<!-- example -->``; it names the page, and the mark."""
    kind = block.mark.partition(":")[0]
    ways = (f'"{block.mark}"', f"<!-- {block.mark} -->", f"{kind}: ")
    name = Path(block.page).name
    found = (test for test, source in TESTS.items() if name in source and any(way in source for way in ways))
    return next(found, None) if block.mark else None


def reason_of(page, line):
    return next((key for key in NOT_RUN if key[0] == page and line.startswith(key[1])), None)


def commands_of(block):
    """Return the commands of a block: without prompts and comments, long ones in one line."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [re.sub(r"\s+#.*", "", line).strip() for line in lines if line.strip() and not line.startswith("#")]


def is_run_here(command):
    return shlex.split(command)[0] == "wmma-emu"


def what_runs(block):
    """Say what sees to a block; None if nothing does."""
    directive = re.fullmatch(r"\{([\w-]+)\}.*", block.language)
    if directive:
        return "sphinx" if directive[1] in DIRECTIVES else None
    if block.page in RECORDED:
        return "reason"
    if re.search(r"^>>> ", block.text, re.MULTILINE) and ROOT / block.page in test_pages.PAGES:
        return "doctest"
    if the_test_of(block):
        return the_test_of(block)
    if block.language in ("sh", "console"):
        return "commands" if all(reason_of(block.page, x) or is_run_here(x) for x in commands_of(block)) else None
    if reason_of(block.page, block.first):
        return "reason"
    return "python" if block.language == "python" else None


@pytest.mark.parametrize("page", PAGES)
def test_something_sees_to_every_block_of_a_page(page):
    unseen = [str(block) for block in blocks_of(page) if what_runs(block) is None]
    assert unseen == [], "nothing runs these blocks, and NOT_RUN has no reason"


def test_there_are_blocks_and_every_fence_is_one():
    for page, text in PAGES.items():
        fences = len(re.findall(r"^[ ]*(?:```|~~~)", text, re.MULTILINE))
        assert fences == 2 * len(blocks_of(page)), page
    assert {x.page for x in BLOCKS} >= {"README.md", "examples/README.md", "docs/how-to/translate-a-wmma-kernel.md"}


def test_every_reason_belongs_to_a_block():
    used = set()
    for block in BLOCKS:
        lines = commands_of(block) if block.language in ("sh", "console") else [block.first]
        used |= {reason_of(block.page, line) for line in lines}
    assert set(NOT_RUN) - used == set()


def _begin(page, name, folder):
    """Write a page's kernel, and run its line of Python that makes an array."""
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    (source,) = [x.text for x in blocks_of(page) if x.mark == f"file: {name}"]
    (folder / name).write_text(source, encoding="utf-8")
    (line,) = [y for x in blocks_of(page) if x.language == "sh" for y in commands_of(x) if y.startswith("python -c")]
    with contextlib.chdir(folder):
        exec(shlex.split(line)[2], {})


def _sums(folder):
    """Make the files of docs/how-to/test-a-kernel-without-a-gpu.md: its kernel, and four rows to sum."""
    _begin("docs/how-to/test-a-kernel-without-a-gpu.md", "row_sum.cu", folder)


def _turned(folder):
    """Make the files of docs/how-to/live-with-findings.md: its kernel, an array, and a baseline with its race."""
    _begin("docs/how-to/live-with-findings.md", "turned.cu", folder)
    x = np.load(folder / "x.npy")
    module = we.ptx.Module.from_file(folder / "turned.cu", findings="report")
    we.ptx.Baseline.of([module.kernel[1, 64](x, np.zeros_like(x))]).write(folder / "known.json")


def _rows(folder):
    """Make the files of docs/how-to/use-tensor-maps.md: the kernel of its first block, and the image."""
    page = "docs/how-to/use-tensor-maps.md"
    names = {}
    exec(next(x.text for x in blocks_of(page) if x.language == "python"), names)
    (folder / "rows.ptx").write_text(names["text"], encoding="utf-8")
    np.save(folder / "image.npy", names["image"])


AT_HAND = {
    "docs/how-to/live-with-findings.md": _turned,
    "docs/how-to/test-a-kernel-without-a-gpu.md": _sums,
    "docs/how-to/use-tensor-maps.md": _rows,
}
"""The functions that make the files of a page; `_begin` compiles CUDA."""
_COMPILES = ("docs/how-to/live-with-findings.md", "docs/how-to/test-a-kernel-without-a-gpu.md")
COMMANDS = [
    pytest.param(x.page, y, marks=[pytest.mark.thorough] * (x.page in _COMPILES))
    for x in BLOCKS if what_runs(x) == "commands" for y in commands_of(x) if is_run_here(y) and not reason_of(x.page, y)
]  # fmt: skip


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_command_runs(page, command, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    AT_HAND.get(page, lambda folder: None)(tmp_path)
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(shlex.split(command)[1:]) == 0
    assert out.getvalue() or len(list(tmp_path.iterdir())) > 1


def _param(page):
    """Return a page as a parameter; a page whose Python compiles CUDA is thorough."""
    compiles = any(re.search(r"from_cuda\(|\.cuh?\"", x.text) for x in blocks_of(page) if what_runs(x) == "python")
    return pytest.param(page, marks=[pytest.mark.thorough] * compiles)


RUN = [_param(page) for page in PAGES if any(what_runs(x) == "python" for x in blocks_of(page))]


@pytest.mark.parametrize("page", RUN)
def test_the_python_of_a_page_runs_from_its_first_block_to_its_last(page, tmp_path, monkeypatch):
    test_pages.skip_without_what_it_needs(PAGES[page])
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks_of(page):
            if what_runs(block) == "doctest":  # what these print is test_pages' to see
                block = block._replace(text="".join(x.source for x in doctest.DocTestParser().get_examples(block.text)))
            elif what_runs(block) != "python":
                continue
            exec(compile(block.text, f"<{page}>", "exec"), names)
