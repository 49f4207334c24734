# SPDX-License-Identifier: MIT
"""Synonyms of commands and options, replaced by the names that the tables use."""

import argparse
import re
from collections.abc import Sequence

from wmma_emu.cli.program_options import KERNEL_FILES, is_kernel_file
from wmma_emu.spellings import as_spelled

ELEMENT = re.compile(
    r"(?<![\w:.])([abcd])(?:\s*[\[(]\s*(-?\d+)\s*(?:,|\]\s*\[)\s*(-?\d+)\s*[\])]|\s+(-?\d+)\s*,\s*(-?\d+)\s*$)",
    re.IGNORECASE | re.ASCII,
)
"""An element as users write it: ``A[3, 5]``, ``A[3][5]``, ``A(3,5)`` and, at the end, ``A 3,5``."""

COMMAND_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ls", "instructions", "search", "find"), ("list",)),
    **dict.fromkeys(("info", "describe", "inspect", "instruction", "instr"), ("show",)),
    **dict.fromkeys(("layouts", "fragment", "fragments", "draw", "print", "map"), ("layout",)),
    **dict.fromkeys(("element", "locate"), ("where",)),
    **dict.fromkeys(("lane", "thread", "register", "registers"), ("what",)),
    **dict.fromkeys(("chip", "archs", "arch", "gpus", "devices", "targets", "architectures"), ("chips",)),
    **dict.fromkeys(("schedules", "lowering", "sass", "steps"), ("schedule",)),
    **dict.fromkeys(("explorer", "gui", "browse", "web", "ui"), ("explore",)),
    **dict.fromkeys(("matmul", "mm", "multiply", "dot"), ("gemm",)),
    **dict.fromkeys(("why", "trace"), ("explain",)),
    **dict.fromkeys(("diff", "cmp"), ("compare",)),
    **dict.fromkeys(("quantize", "quant"), ("quantise",)),
    **dict.fromkeys(("findings", "kinds"), ("finding",)),
    **dict.fromkeys(("verify", "validate", "fuzz"), ("crosscheck",)),
    **dict.fromkeys(("completions", "autocomplete"), ("completion",)),
    **dict.fromkeys(("environment", "env", "about", "extras", "diagnose"), ("doctor",)),
    **dict.fromkeys(("launch", "exec", "test"), ("ptx", "run")),
    **dict.fromkeys(("kernel", "kernels", "cuda"), ("ptx", "explain")),
}
"""Synonyms of commands, and the commands that they mean."""

_OPTION_WORDS: dict[str, tuple[str, ...]] = {
    "--arch": ("--chip", "--gpu", "--sm", "--target", "--device", "--architecture"),
    "--archs": ("--chips", "--gpus", "--arch", "--chip"),
    "--type": ("--dtype", "--types", "--precision"),
    "--instr": ("--instruction", "--op", "--inst"),
    "--lane": ("--thread", "--tid", "--laneid"),
    "--register": ("--reg",),
    "--row": ("--i",),
    "--col": ("--column", "--j"),
    "--output": ("--out",),
    "--out-format": ("--out-dtype", "--d-format"),
    "--operand": ("--op", "--matrix-name"),
    "--arg": ("--args", "--argument"),
    "--grid": ("--blocks", "--grid-dim", "--griddim"),
    "--block": ("--threads-per-block", "--block-dim", "--blockdim"),
    "--shared-bytes": ("--shared", "--smem", "--dynamic-shared-memory"),
}
"""The options and their synonyms, for commands without an option of the synonym's name."""

_ARRAYS = (
    "name the file of each array that the kernel writes in its argument: --arg y.npy=zeros:f32:1024 for a new one, "
    "--arg y.npy=x.npy "
    "for one initialised from x.npy; --arg -=x.npy writes to standard output"
)
_ORDER = "in Python, the keyword k_order= of wmma_emu.{} takes the order of k, a wmma_emu.KOrder"
ELSEWHERE = {
    "ptx run": dict.fromkeys(("-o", "--output", "--out"), _ARRAYS),
    "gemm": {"--k-order": _ORDER.format("gemm")},
    "compare": {"--k-order": _ORDER.format("compare_archs")},
}
"""Options that a command does not have although users try them, and the alternative that the error names."""

_FORMATS = {"md": "markdown", "py": "python", "txt": "text"}
"""Options that stand for a format."""


def command_of(words: Sequence[str]) -> list[str]:
    """Replace a synonym of a command by the command; ``ptx FILE`` is ``ptx explain FILE``.

    ``run`` of a file of kernels is ``ptx run``.

    Examples
    --------
    >>> command_of(["quantize", "x.npy"]), command_of(["run", "k.cu"]), command_of(["ptx", "k.cu"])
    (['quantise', 'x.npy'], ['ptx', 'run', 'k.cu'], ['ptx', 'explain', 'k.cu'])
    """
    first = words[0].casefold()
    if first == "run" and is_kernel_file(words[1:]):
        return ["ptx", *words]
    words = [*COMMAND_WORDS.get(first, (first if first.isalpha() else words[0],)), *words[1:]]
    if words[0] == "ptx" and len(words) > 1 and words[1].casefold().endswith(KERNEL_FILES):
        return ["ptx", "explain", *words[1:]]
    return words


def respelled(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Replace synonyms of options by the options: ``--chip`` by --arch, ``--svg`` by --format svg.

    Examples
    --------
    >>> from wmma_emu.cli.choices import add_format, option
    >>> parser = argparse.ArgumentParser()
    >>> option(parser, "--arch")
    >>> add_format(parser, ("table", "json"), "table or json")
    >>> respelled(["--GPU=h100", "--json", "x", "--", "--json"], parser)
    ['--arch=h100', '--format=json', 'x', '--', '--json']
    """
    own = options_of(parser)
    formats = next((x.completes for x in parser._actions if "--format" in x.option_strings), ())  # type: ignore[attr-defined]
    meant = {word: name for name in own for word in _OPTION_WORDS.get(name, ()) if word not in own}
    meant |= {f"--{word}": f"--format={word}" for word in formats if f"--{word}" not in own}
    meant |= {f"--{x}": meant[f"--{word}"] for x, word in _FORMATS.items() if f"--{word}" in meant}
    out: list[str] = []
    for position, word in enumerate(words):
        if word == "--":
            return [*out, *words[position:]]
        if word.startswith("-=") and out:  # a value: an array that `ptx run` writes to standard output
            out[-1] += f"={word}"
            continue
        name, equals, value = word.partition("=")
        plain = name if name in own else name.casefold().replace("_", "-")
        plain = plain if plain in own or plain in meant else as_spelled(name, own)
        if plain in meant and meant[plain].startswith("--format=") and equals:  # --svg=x.svg
            out += [meant[plain], f"--output={value}"]
        else:
            out.append(meant.get(plain, plain) + equals + value)
    return out


def as_typed(message: str, words: Sequence[str]) -> str:
    """Name the option that an error is about by the synonym that the user typed.

    Examples
    --------
    >>> as_typed("--out-format 'fp8' is not one of f64, f32", ["gemm", "--out-dtype", "fp8"])
    "--out-dtype 'fp8' is not one of f64, f32"
    """
    typed = {x.partition("=")[0] for x in words}
    for name, synonyms in _OPTION_WORDS.items():
        given = next((x for x in synonyms if x in typed), None)
        if given is not None and name not in typed:
            message = re.sub(rf"(^|(?:wmma-emu: error|missing after) ){name}(?![\w-])", rf"\1{given}", message)
    return message


def names_of_options(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return all names of a parser's options, each with the first name of its option, without the hidden options."""
    shown = [x for x in parser._actions if x.help != argparse.SUPPRESS]
    names = [[y for y in x.option_strings if y.startswith("--")] for x in shown]
    return {name: same[0] for same in names for name in same}


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """List the options of a parser that begin with two dashes."""
    return [x for action in parser._actions for x in action.option_strings if x.startswith("--")]
