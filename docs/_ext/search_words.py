# SPDX-License-Identifier: MIT
"""Additional search words of pages that do not contain them.

The other spelling of every word with British and American spellings is added by the rules of the package.
"""

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes

from wmma_emu.spellings import american, british

if TYPE_CHECKING:  # the tests of these words have no Sphinx
    from sphinx.application import Sphinx

__all__ = ["WORDS", "add_words", "respelled", "setup", "words_of"]

WORDS = {
    "quantise quantisation quantiser dequantise": (
        "how-to/quantise-to-block-scaled-formats", "how-to/property-test-a-quantised-gemm", "reference/api/quantise",
    ),
    "quantise": ("how-to/multiply-block-scaled-matrices",),
    "ci continuous integration github actions workflow gitlab pipeline yaml junit xdist": (
        "how-to/run-in-ci-without-a-gpu",
    ),
    "ci github actions sarif baseline": ("how-to/live-with-findings",),
    "ci pytest fixture": ("how-to/test-a-kernel-without-a-gpu", "tutorials/test-a-kernel-without-a-gpu"),
    "debug debugger debugging breakpoint trace pdb printf assert profiler profile step": ("how-to/debug-a-kernel",),
    "debug race racecheck memcheck synccheck initcheck compute-sanitizer sanitizer": (
        "explanation/findings", "how-to/live-with-findings", "how-to/test-a-kernel-without-a-gpu",
    ),
    "latex tikz png svg export figure handout print": ("how-to/find-what-a-lane-holds", "reference/api/viz"),
    "determinism deterministic reproducible reproducibility nondeterminism batch invariance invariant": (
        "explanation/why-results-differ", "explanation/library-kernels", "explanation/numerics",
        "how-to/check-batch-invariance",
    ),
    "fuzz fuzzer fuzzing differential testing miscompilation compiler bug shrink": ("how-to/compare-two-kernels",),
    "determinism deterministic schedule": ("how-to/test-a-kernel-without-a-gpu",),
    "fp8 training e4m3 e5m2 transformer engine amax": (
        "explanation/fp8-on-hopper", "how-to/multiply-block-scaled-matrices",
        "how-to/quantise-to-block-scaled-formats", "how-to/train-in-fp8-on-a-laptop",
    ),
    "texture surface tex2d tex1dfetch surf2dwrite cudatextureobject sampler bilinear interpolation": (
        "how-to/use-textures-and-surfaces",
    ),
    "numba cuda cudasim simulator": ("how-to/test-a-kernel-without-a-gpu", "how-to/debug-a-kernel"),
    "native jit engine speed": ("explanation/performance", "how-to/install"),
    "colab kaggle jupyter jupyterlite binder notebook hosted": ("lessons/index", "how-to/teach-with-notebooks"),
    "torch pytorch jax tensorflow array tensor": ("start/numerics", "start/models", "reference/api/top"),
    "torch pytorch tensor autograd dispatch model layer linear training fp8": (
        "how-to/run-a-model-on-a-chip", "how-to/use-with-pytorch",
    ),
    "gpus disagree differ logits chips batch invariance model compare": ("how-to/why-do-my-gpus-disagree",),
    "jax xla jit pure_callback vmap grad": ("how-to/use-with-jax",),
    "cute cutlass atom tiledmma layout shape stride": ("how-to/find-what-a-lane-holds", "reference/api/layouts"),
    "sass hmma machine code": ("reference/instructions/index", "how-to/find-what-a-lane-holds"),
    "triton gluon": ("start/models", "how-to/test-a-kernel-without-a-gpu"),
    "mac macos windows arm aarch64 pip install": ("how-to/install",),
}  # fmt: skip
"""The search words, and the names of the pages about them."""


def words_of(document: str) -> list[str]:
    """Return the words of a page, each once.

    Examples
    --------
    >>> words_of("lessons/index")[:2]
    ['colab', 'kaggle']
    """
    return list(dict.fromkeys(word for words, pages in WORDS.items() if document in pages for word in words.split()))


def respelled(text: str) -> list[str]:
    """Return the other spelling of the words in a page that have British and American spellings.

    Examples
    --------
    >>> respelled("Quantise, or quantize, the colours of lane_colour; a source is precise")
    ['colors', 'lane_color', 'color']
    """
    found = re.findall(r"\w+", text)
    words = dict.fromkeys(part for word in found for part in (word, *word.split("_")))
    there = {word.casefold() for word in words}
    twins = (twin for word in words for twin in (american(word), british(word)) if twin != word)
    return [twin for twin in dict.fromkeys(twins) if twin.casefold() not in there]


def add_words(app: "Sphinx", doctree: nodes.document) -> None:
    """Add the words to a page as HTML keywords, which Sphinx's search reads."""
    listed = words_of(app.env.docname)
    titles = " ".join(x.astext() for x in doctree.findall(nodes.title)).casefold()
    named = {twin for word in [*listed, *titles.split()] for twin in (word, american(word), british(word))}
    others = {twin for words in WORDS for word in words.split() for twin in (american(word), british(word))} - named
    # A word of the table leads to the pages that the table names, and not to every page that contains it.
    words = [*listed, *(x for x in respelled(" ".join([doctree.astext(), *listed])) if x.casefold() not in others)]
    if words:
        doctree += nodes.meta(name="keywords", content=", ".join(words))


def _pages_are_there(app: "Sphinx", env: Any) -> None:
    missing = {page for pages in WORDS.values() for page in pages} - set(env.found_docs)
    if missing:
        raise ValueError(f"docs/_ext/search_words.py names pages that do not exist: {sorted(missing)}")


def setup(app: "Sphinx") -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_words)
    app.connect("env-check-consistency", _pages_are_there)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "2"}
