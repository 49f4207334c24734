# SPDX-License-Identifier: MIT
"""Compile LLVM's tests of the NVPTX target to PTX, with the LLVM inside llvmlite, as their RUN lines say."""

import multiprocessing
import os
import re
import shlex
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

import llvmlite.binding as llvm

__all__ = ["RunLine", "compiled", "runs_of"]

TRIPLES = {"nvptx64": "nvptx64-nvidia-cuda", "nvptx": "nvptx-nvidia-cuda"}

_SECONDS = 60

_OTHERS = {"verify-machineinstrs", "o", "asm-verbose"}
"""Options of llc that do not change the code."""


class RunLine(NamedTuple):
    """One command of a test: the target, and LLVM's options that llvmlite sets for a whole process."""

    triple: str = TRIPLES["nvptx64"]
    chip: str = ""
    features: str = ""
    level: int = 2
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        words = [self.triple.partition("-")[0], self.chip, self.features, *(x for x, _ in self.options)]
        return " ".join(x for x in words if x)


def runs_of(source: str) -> tuple[RunLine, ...]:
    """Return the distinct commands of a test that run ``llc`` on the file itself and expect that it succeeds.

    Examples
    --------
    >>> [str(x) for x in runs_of("; RUN: llc < %s -mtriple=nvptx64 -mcpu=sm_80 -mattr=+ptx70 | FileCheck %s")]
    ['nvptx64 sm_80 +ptx70']
    >>> runs_of("; RUN: not llc < %s -march=nvptx64")
    ()
    """
    triple = re.search(r'^target triple = "([^"]*)"', source, re.MULTILINE)
    default = triple[1] if triple else TRIPLES["nvptx64"]
    return tuple(dict.fromkeys(_run(x, default) for x in _commands(source)))


def _commands(source: str) -> Iterator[list[str]]:
    """Yield the words of each command ``llc``: before the first pipe of its line, or inside ``%if ... %{ %}``."""
    lines = "\n".join(re.findall(r"^\s*;\s*RUN:(.*)$", source, re.MULTILINE))
    for line in re.sub(r"\\\n", " ", lines).splitlines():
        if found := re.match(r"(?:%if [^{]*%\{)?\s*llc\b([^|>]*)", line.strip()):
            words = shlex.split(found[1].replace("%}", ""))
            if any(x in ("%s", "<%s") for x in words):
                yield [x for x in words if x not in ("<", "%s", "<%s", "-", "%t")]


def _run(words: list[str], default: str) -> RunLine:
    run = RunLine(default)
    for word in words:
        name, _, value = word.lstrip("-").partition("=")
        if name in ("mtriple", "march"):
            run = run._replace(triple=TRIPLES.get(value, value))
        elif name == "mcpu":
            run = run._replace(chip=value)
        elif name == "mattr":
            run = run._replace(features=value)
        elif re.fullmatch("O[0-3]", name):
            run = run._replace(level=int(name[1]))
        elif name not in _OTHERS:
            run = run._replace(options=(*run.options, (name, value)))
    return run


def compiled(source: str, run: RunLine) -> tuple[str, str]:
    """Return the PTX of a test, or an empty text and the reason: LLVM ends the process at what it cannot select."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_compile, args=(sender, source, run))
    process.start()
    sender.close()
    try:
        result: tuple[str, str] = receiver.recv() if receiver.poll(_SECONDS) else ("", f"more than {_SECONDS} seconds")
    except EOFError:
        result = "", "LLVM ends the process"
    process.kill()
    process.join()
    return result


def _compile(sender: Connection, source: str, run: RunLine) -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # the tests of LLVM's own debug output write pages
        os.dup2(silent, stream)
    try:
        for name, value in run.options:
            llvm.set_option("llc", f"-{name}={value}" if value else f"-{name}")
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = llvm.Target.from_triple(run.triple).create_target_machine(run.chip, run.features, opt=run.level)
        module = llvm.parse_assembly(source)
        module.triple, module.data_layout = run.triple, str(machine.target_data)
        sender.send((machine.emit_assembly(module), ""))
    except RuntimeError as error:
        sender.send(("", " ".join(str(error).split("\n")[:2])[:200]))
