# SPDX-License-Identifier: MIT
"""``wmma-emu ptx``: explain PTX source, or run one of its kernels on files."""

import json
import re
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from wmma_emu.cli.choices import PROFILE_FORMATS, PTX_FORMATS
from wmma_emu.cli.corner import digest_of, sizes_of, storable
from wmma_emu.cli.files import check_output, write_text
from wmma_emu.cli.matrices import write_matrix
from wmma_emu.cli.output import STANDARD_OUTPUT, format_of, writing
from wmma_emu.cli.profiles import show_profile
from wmma_emu.cli.ptx_arguments import read_given, read_sizes
from wmma_emu.cli.ptx_files import check_files, on_standard_output, write_files, written_baseline
from wmma_emu.cli.tensor_map import show_tensor_map
from wmma_emu.cli.terminal import Styled, Terminal, say_on_stderr
from wmma_emu.cli.usage import UsageError, check_choice, check_number, quoted
from wmma_emu.errors import OptionError
from wmma_emu.ptx import Baseline, Kernel, Launch, LaunchOptions, Module, ModuleExplanation, Profile, Silence
from wmma_emu.ptx.launch.calls import contraction_of
from wmma_emu.ptx.launch.open_roundings import CONTRACTIONS
from wmma_emu.ptx.launch.targets import arch_for

STANDARD_INPUT = "-"
_MOST_NAMES = 10
_COMPARED = ("text", "html")
_SILENCE = re.compile(r"(.+?) at (\d+|\S.*?:\d+)\s*:\s*(.*)", re.DOTALL)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Explain PTX source, show a tensor map, or run a kernel; return 1 if a finding is an error."""
    if arguments.action == "tensor-map":
        return show_tensor_map(arguments, terminal)
    if arguments.action == "profile":
        return _profile(arguments, terminal)
    if arguments.action == "explain":
        output = format_of(arguments.format, arguments.output, PTX_FORMATS)
        with writing(arguments, PTX_FORMATS, "kernel.json", terminal) as out:
            module = _module(arguments, "auto")
            if arguments.keep == STANDARD_OUTPUT:
                return 0
            if output == "json":
                out.raw(json.dumps(module.explain().to_dict()) + "\n")
            else:
                _show(module.explain(), out)
        return 0
    return _launch(arguments, terminal)


def _module(arguments: Namespace, engine: str) -> Module:
    path = Path(arguments.file)
    contraction = check_choice("--contraction", _contraction(arguments), CONTRACTIONS)
    keywords: dict[str, Any] = {"contraction": contraction, "engine": engine, "findings": "report"}
    try:
        if arguments.keep not in (None, STANDARD_OUTPUT):
            _check_keep(arguments)
        text = _text(arguments, path)
        if arguments.arch is None and text is not None:
            keywords["arch"] = arch_for(text)
        elif arguments.arch is not None:
            keywords["arch"] = arguments.arch
        if arguments.file == STANDARD_INPUT and text is not None:
            module = Module(text, name="standard input", **keywords)
        else:
            module = Module.from_file(path, **keywords)
        if arguments.keep == STANDARD_OUTPUT:
            Terminal().raw(module.text)
        elif arguments.keep is not None:
            write_text(arguments.keep, module.text)
        return module
    except UnicodeDecodeError:
        raise UsageError(f"{arguments.file} is not a text file; cuobjdump -ptx extracts the PTX of a binary") from None
    except ValueError as error:
        if "\0" in arguments.file:
            raise UsageError(f"{arguments.file!r} is not a file name") from error
        raise


def _contraction(arguments: Namespace) -> str:
    """Return what decides which operations are fused; ``--contract``, the old option, calls "rules" "ptxas"."""
    given: str = arguments.contraction
    if arguments.contract is not None:
        given = str(contraction_of(arguments.contract))
        say_on_stderr(f"warning: --contract {quoted(arguments.contract)} is now --contraction {given}; the old option "
                      "will be removed in the next version")  # fmt: skip
    return given


def _check_keep(arguments: Namespace) -> None:
    """Reject a file for PTX that cannot be written, or whose name does not end in .ptx."""
    if not arguments.keep.endswith(".ptx"):
        raise UsageError(f"--keep {quoted(arguments.keep)} does not end in .ptx; name a file such as kernel.ptx")
    check_output(arguments.keep, [arguments.file])


def _text(arguments: Namespace, path: Path) -> str | None:
    """Read PTX; return None for CUDA C++, which the compiler reads."""
    if arguments.file == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("- is standard input, but nothing is piped into it; name a file, such as kernel.ptx")
        return sys.stdin.read()
    return None if path.suffix == ".cu" else path.read_text(encoding="utf-8")


def _show(explanation: ModuleExplanation, terminal: Terminal) -> None:
    head, *variables = str(explanation).split("\n\n")[0].splitlines()
    terminal.line(Styled(head, "title"))
    for line in variables:
        terminal.line(line)
    for kernel in explanation.kernels:
        terminal.line()
        terminal.fields(kernel.fields(), indent=0)


def _profile(arguments: Namespace, terminal: Terminal) -> int:
    check_choice("--by", arguments.by, ("line", "ptx"))
    written = format_of(arguments.format, arguments.output, PROFILE_FORMATS)
    if arguments.compare is not None and written not in _COMPARED:
        raise UsageError(
            f"--compare writes text or HTML, not {written}; leave it out to write the profile as {written}"
        )
    before = None if arguments.compare is None else Profile.read(arguments.compare)
    with writing(arguments, PROFILE_FORMATS, "profile.html", terminal) as out:
        options = _options_of_launch(arguments)
        launch = _launch_of(arguments)
        given = read_given(arguments.arg, LaunchOptions().but(options).max_bytes)
        found = launch(*(x.value for x in given), **options, profile=True).profile or Profile()
        if before is not None:
            changes = found.compare(before)
            out.raw(changes.to_html()) if written == "html" else out.written(str(changes))
            return 1 if changes.worse else 0
        show_profile(found, written, arguments.by, out)
    return 0


def _launch_of(arguments: Namespace) -> Launch:
    """Return the kernel with its grid and block."""
    grid, block = read_sizes("--grid", arguments.grid), read_sizes("--block", arguments.block)
    shared = check_number("--shared-bytes", arguments.shared_bytes)
    module = _module(arguments, arguments.engine)
    return _kernel(module, arguments.kernel)[grid, block, shared]


def _options_of_launch(arguments: Namespace) -> dict[str, Any]:
    """Read the options that all launches have."""
    options: dict[str, Any] = {}
    if arguments.schedule is not None:
        options["schedule"] = check_number("--schedule", arguments.schedule)
    for name in ("max_steps", "max_bytes"):
        if (text := getattr(arguments, name)) is not None:
            options[name] = int(_number(f"--{name.replace('_', '-')}", text))
    if arguments.max_seconds is not None:
        options["max_seconds"] = _number("--max-seconds", arguments.max_seconds)
    if arguments.cooperative:
        options["cooperative"] = True
    if arguments.checks is not None:
        options["checks"] = _checks(arguments.checks)
    return options


def _launch(arguments: Namespace, terminal: Terminal) -> int:
    options: dict[str, Any] = {"schedules": check_number("--schedules", arguments.schedules, first=1)}
    options |= {"asynchrony": arguments.asynchrony, "machine": arguments.machine, **_options_of_launch(arguments)}
    options["silence"] = [_silence(x) for x in arguments.silence]
    if arguments.baseline is not None:
        options["baseline"] = Baseline.read(arguments.baseline)
    check_files(arguments)
    chosen = LaunchOptions().but(options)
    launch = _launch_of(arguments)
    given = read_given(arguments.arg, chosen.max_bytes)
    report = launch(*(x.value for x in given), **options)
    baseline = written_baseline(arguments, chosen, report)
    write_files(arguments, report, terminal)
    is_shown = not on_standard_output(arguments)
    if is_shown:
        terminal.written(report.to_text(terminal.columns, verbose=arguments.verbose, color=terminal.has_colours))
    written = []
    if report.completed:
        for argument in given:
            if argument.output is None:
                continue
            stored = storable(argument.array)
            write_matrix(argument.output, stored)
            written.append((argument.output, f"{sizes_of(stored)} {stored.dtype}, sha256 {digest_of(stored)}"))
    if baseline is not None:
        count = len(baseline)
        written.append((arguments.write_baseline, f"{count} known finding{'s' * (count != 1)}"))
    if is_shown:
        terminal.fields(written, indent=0)
    new = report.errors if baseline is None else baseline.divided(report.errors)[0]
    return 1 if new else 0


def _kernel(module: Module, name: str | None) -> Kernel:
    if name is not None:
        return module[name]
    if len(module) > 1:
        names = [module[x].called for x in module]
        shown = [x if names.count(x) == 1 else y for x, y in zip(names, module, strict=True)]
        more = f" and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
        listed = ", ".join(shown[:_MOST_NAMES]) + more
        raise UsageError(f"{module.name} has {len(shown)} kernels, {listed}; name one: --kernel {shown[0]}")
    return module.kernel


def _checks(text: str) -> list[str]:
    names = [x.strip() for x in text.split(",")]
    if names == ["none"]:
        return []
    if "none" in names or "" in names:
        raise UsageError(f"--checks {quoted(text)} is not a comma-separated list of checks, nor the single word none")
    return names


def _silence(text: str) -> Silence:
    found = _SILENCE.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"--silence {quoted(text)} has the wrong form; expected, for example, 'race at kernel.cu:16: the reason'"
        )
    try:
        return Silence(*found.groups())
    except OptionError as error:
        raise UsageError(f"--silence {quoted(text)}: {str(error).removeprefix('kind=')}") from None


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise UsageError(f"{option} {quoted(text)} is not a positive number, as in 1e8")
    return value
