# SPDX-License-Identifier: MIT
"""Parsing of a command line into a command and its options."""

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from wmma_emu.cli.command_table import COMMANDS
from wmma_emu.cli.program_options import require_program, split_program
from wmma_emu.cli.ptx_options import ACTIONS, check_action, check_source
from wmma_emu.cli.spelling import COMMAND_WORDS, ELSEWHERE, command_of, names_of_options, options_of, respelled
from wmma_emu.cli.usage import UsageError, did_you_mean
from wmma_emu.suggestions import nearest, question
from wmma_emu.version import __version__

DESCRIPTION = "NVIDIA's matrix instructions, bit for bit, on a machine without a GPU."

_EXAMPLES = """examples:
  wmma-emu list bf16 h200
  wmma-emu show m16n8k16.f32.bf16.bf16.f32
  wmma-emu show HMMA.16816.F32
  wmma-emu layout m16n8k16.f32.f16.f16.f32 A
  wmma-emu layout wmma.mma.m16n16k16.f32.f32 B --arch v100 --lane 5
  wmma-emu layout m16n8k32.s32.s8.s8.s32 A --row 9 --col 17 -o a.svg
  wmma-emu layout m16n8k16.f32.f16.f16.f32 C --format c
  wmma-emu where m16n8k16.f32.f16.f16.f32 A --row 9 --col 3
  wmma-emu what m16n8k16.f32.f16.f16.f32 A --lane 5
  wmma-emu explore
  wmma-emu handout m16n8k16.f32.f16.f16.f32 -o handout.html
  wmma-emu schedule wmma.mma.m16n16k16.f32.f32 --arch v100
  wmma-emu gemm A.npy B.npy -o D.npy --arch a100
  wmma-emu explain A.npy B.npy --row 3 --col 5 --arch a100
  wmma-emu explain A.npy B.npy --row 3 --col 5 -o explained.html
  wmma-emu compare A.npy B.npy --archs v100,a100,h100 --svg compare.svg
  wmma-emu compare a100 h100
  wmma-emu quantise X.npy --to nvfp4 -o elements.npy --scales scales.npy
  wmma-emu ptx explain kernel.ptx
  wmma-emu ptx run kernel.ptx --grid 4 --block 256 --arg y.npy=x.npy --arg 1024
  wmma-emu run --arch a100 train.py --steps 1
  wmma-emu finding race
  wmma-emu crosscheck --instr 'm16n8k16.*bf16' --count 1e8 --report report.html

wmma-emu COMMAND --help shows the arguments of a command.
"""
_VERBOSE = "show every warning in full"
_MORE = "(wmma-emu --help describes them)"
_ALL = "(wmma-emu help lists all commands)"
_HELP = ("-h", "--help")

_MISSING = re.compile(r"the following arguments are required: (.+)")
_VALUELESS = re.compile(r"argument (\S+): expected one argument")


class UnknownCommandError(UsageError):
    """A command line whose first word is not a command."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions: the caller writes them, in one line.

    Examples
    --------
    >>> parser = Parser(prog="wmma-emu layout")
    >>> _ = parser.add_argument("--operand", required=True, help="A, B, C or D; in any case")
    >>> parser.parse_args([])
    Traceback (most recent call last):
        ...
    wmma_emu.cli.usage.UsageError: layout needs --operand: A, B, C or D
    """

    def error(self, message: str) -> NoReturn:
        """Raise the message as a UsageError, in this package's wording."""
        command = self.prog.removeprefix("wmma-emu ")
        if found := _MISSING.fullmatch(message):
            message = f"{command} needs {'; '.join(self._with_help(name) for name in found[1].split(', '))}"
        elif found := _VALUELESS.fullmatch(message):
            message = f"{command}: a value is missing after {self._with_help(found[1])}"
        raise UsageError(message)

    def _with_help(self, name: str) -> str:
        """Return the shortest name of an argument, and its help up to the first semicolon."""
        for action in self._actions:
            names = action.option_strings or [str(action.metavar)]
            if name == "/".join(names):
                return f"{names[0]}: {(action.help or '').split('; ')[0]}"
        return name


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; --help raises SystemExit."""
    words = _plain(argv)
    if words[0].startswith("-"):
        raise UsageError(
            f"a command comes first, before {words[0][:80]!r}; the commands are {', '.join(COMMANDS)} {_MORE}"
        )
    if words[0] not in COMMANDS:
        given = words[0] if words[0] in argv else argv[0]  # in "help nope", nope does not exist, not help
        raise UnknownCommandError(f"{given[:80]!r} is not a command{_near_command(words[0])}")
    command, rest = words[0], words[1:]
    action = None
    if command == "ptx":
        check_action(rest)
        if rest[0] in ACTIONS:
            action, rest = rest[0], rest[1:]
    program: list[str] = []
    if command == "run":
        rest, program = split_program(rest)
    parser = parser_of(command, action)
    try:
        arguments, unread = parser.parse_known_args(respelled(rest, parser))
    except UsageError:
        if command == "ptx":
            check_source(rest)
        raise
    arguments.command, arguments.action = command, action
    if command == "run":
        arguments.program = program
        require_program(arguments)
    return _with_unread(arguments, unread, parser)


def _near_command(word: str) -> str:
    """Name the command nearest to a word, or to a synonym of a command; list all commands if no word is near."""
    others = [" ".join(COMMAND_WORDS[x]) for x in nearest(word, COMMAND_WORDS, cutoff=0.8)]
    near = question(others, show=str) or did_you_mean(word, COMMANDS)
    return f"{near} {_ALL}" if near else f"; the commands are {', '.join(COMMANDS)}"


def _plain(argv: Sequence[str]) -> list[str]:
    """Normalise the ways to ask for help and for the version, and synonyms of commands."""
    words = command_of(argv) if argv and not argv[0].startswith("-") else list(argv)
    if len(words) > 1 and words[0] in ("-v", "--verbose"):
        words = [*command_of(words[1:]), words[0]]
    if words in ([], ["-h"], ["--help"]):
        return ["help"] if not words else ["help", "--all"]
    if words in (["-V"], ["-v"], ["--version"]):
        return ["version"]
    if words[0] in _HELP:
        words = ["help", *words[1:]]
    if words[0] == "help" and len(words) > 1 and words[1] != "--all":
        return [*command_of(words[1:]), "--help"] if words[1] not in _HELP else ["help", "--help"]
    if len(words) > 1 and words[-1] == "help" and words[:-1] in ([words[0]], ["ptx", words[-2]]):
        return [*words[:-1], "--help"]
    return words


def parser_of(command: str, action: str | None = None) -> Parser:
    """Return the parser of one command, or of one of its actions."""
    rows = COMMANDS if action is None else ACTIONS
    add_options, _, description = rows[action or command]
    parser = Parser(
        prog=" ".join(filter(None, ("wmma-emu", command, action))), description=description, allow_abbrev=False
    )
    add_options(parser)
    if "--verbose" not in options_of(parser):
        parser.add_argument("-v", "--verbose", action="store_true", help=_VERBOSE)
    if command == "help":
        parser.add_argument("--all", action="store_true", help=argparse.SUPPRESS)
    return parser


def whole_parser() -> Parser:
    """Return a parser of every command, which writes the help."""
    parser = Parser(
        prog="wmma-emu", description=DESCRIPTION, epilog=_EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("-V", "--version", action="version", version=f"wmma-emu {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, (_, summary, description) in COMMANDS.items():
        commands.add_parser(name, help=summary, description=description)
    return parser


def _with_unread(arguments: argparse.Namespace, unread: Sequence[str], parser: Parser) -> argparse.Namespace:
    """Append words that follow options to those before them; reject the remaining words."""
    command = parser.prog.removeprefix("wmma-emu ")
    for word in unread:
        if word.startswith("-") and not word.removeprefix("-").isdecimal():
            name, options = word.split("=")[0], names_of_options(parser)
            if elsewhere := ELSEWHERE.get(command, {}).get(name):
                raise UsageError(f"{command} has no option {name!r}; {elsewhere}")
            # Compared without their dashes, which are the same in all.
            near = nearest(name.lstrip("-"), [x.lstrip("-") for x in options])
            meant = question([options[f"--{x}"] for x in near], show=str)
            shown = ", ".join(dict.fromkeys(options.values()))
            raise UsageError(f"{command} has no option {name[:80]!r}; it has {shown}{meant}")
    several = next((x.dest for x in parser._actions if not x.option_strings and x.nargs in ("*", "+")), None)
    if unread and several is None:
        raise UsageError(f"{command} takes no further argument {unread[0][:80]!r}{_meant(unread[0], parser)}")
    if several is not None:
        setattr(arguments, several, [*getattr(arguments, several), *unread])
    return arguments


def _meant(word: str, parser: Parser) -> str:
    """Suggest the option that a word belongs to, by the ending of a file or by a chip's name."""
    own = options_of(parser)
    if word.endswith(".npy") and "--c" in own:
        return f"; did you mean --c {word[:80]}?"
    if "--arch" in own:
        from wmma_emu.errors import WmmaEmuError
        from wmma_emu.instructions.arch import arch_of

        try:
            arch_of(word)
        except WmmaEmuError:
            return ""
        return f"; did you mean --arch {word[:80]}?"
    return ""
