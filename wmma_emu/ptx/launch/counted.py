# SPDX-License-Identifier: MIT
"""Counting of a launch: whether it was requested, and the profile and the coverage that result."""

from functools import partial

from wmma_emu.instructions import Arch
from wmma_emu.ptx.launch.machine_code import target_of
from wmma_emu.ptx.launch.names import distinct_name
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.registers import registers_of
from wmma_emu.ptx.launch.runner import Runner
from wmma_emu.ptx.profile.counting_launch import CountingLaunch
from wmma_emu.ptx.profile.coverage import KernelCoverage, SourcePlace
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledInstruction, profiled_instructions
from wmma_emu.ptx.profile.profile import Profile
from wmma_emu.ptx.profile.program_facts import facts_of
from wmma_emu.ptx.profile.session import current_sessions
from wmma_emu.ptx.reports.frames import own_frames


def counting_of(launch: Runner, options: LaunchOptions) -> CountingLaunch | None:
    """Return what counts a launch; None if nothing asks for its profile or its coverage."""
    accesses = options.profile or any(x.counts for x in current_sessions())
    if not (accesses or current_sessions()):
        return None
    return CountingLaunch(launch.kernel.compiled.program.instructions, accesses=accesses)


def profile_of(launch: Runner, counting: CountingLaunch) -> Profile | None:
    """Return the profile of a finished launch, and add it to the current sessions; None if only its coverage counts."""
    program, files = launch.kernel.compiled.program, launch.kernel.module.files
    paths = {name: path for name, path in files.paths.items() if name}
    sources = {paths.get(x, x): files.text(x) for x in sorted(facts_of(program.instructions).files(program))}
    sources = {file: text for file, text in sources.items() if text}
    instructions = profiled_instructions(program, counting.counters(), counting.conflicting, counting.late, paths)
    found = Profile((_kernel_of(launch, instructions),), sources) if counting.accesses else Profile()
    coverage = KernelCoverage()
    if not all(x.counts for x in current_sessions()):
        lines = {(paths.get(file, file), number) for file, number in _lines_of(launch)}
        coverage = KernelCoverage.of(instructions, lines, sources)
    for session in current_sessions():
        session.add(found, coverage)
    return found if counting.accesses else None


def _kernel_of(launch: Runner, instructions: tuple[ProfiledInstruction, ...]) -> KernelProfile:
    kernel, module = launch.kernel, launch.kernel.module
    return KernelProfile(
        distinct_name(kernel.name, (*module.program.kernels,)), module.arch.name, 1, (*launch.grid,), (*launch.block,),
        kernel.compiled.program.shared_bytes + launch.shared_bytes, instructions,
        partial(_registers, module.text, module.arch, kernel.name),
    )  # fmt: skip


def _registers(text: str, arch: Arch, kernel: str) -> int:
    """Return the registers of a thread, 0 if they are not known; nothing here keeps the launch or its memory."""
    return registers_of(text, target_of(text, arch)).get(kernel, 0)


def _lines_of(launch: Runner) -> set[SourcePlace]:
    """Return the source lines of all kernels of the launch's module."""
    found: set[SourcePlace] = set()
    for program in launch.kernel.module.program.kernels.values():
        for source in {x.source for x in program.instructions}:
            found.update((x.file, x.line) for x in own_frames(source)[:1])
    return found
