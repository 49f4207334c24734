# SPDX-License-Identifier: MIT
"""Counting of a launch: whether it was asked for, and the profile that results."""

from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.runner import Runner
from wmma_emu.ptx.profile.counting_launch import CountingLaunch
from wmma_emu.ptx.profile.lines import KernelProfile, profiled_instructions
from wmma_emu.ptx.profile.profile import Profile, sources_of
from wmma_emu.ptx.profile.session import current_sessions


def counting_of(launch: Runner, options: LaunchOptions) -> CountingLaunch | None:
    """Return what counts a launch; None if nothing asks for its profile."""
    if not (options.profile or current_sessions()):
        return None
    return CountingLaunch(launch.kernel.compiled.program.instructions)


def profile_of(launch: Runner, counting: CountingLaunch) -> Profile:
    """Return the profile of a finished launch, and add it to the current sessions."""
    kernel = launch.kernel
    program = kernel.compiled.program
    instructions = profiled_instructions(program, counting.instructions, counting.counters())
    one = KernelProfile(
        kernel.called, kernel.module.arch.name, 1, (*launch.grid,), (*launch.block,),
        program.shared_bytes + launch.shared_bytes, instructions,
    )  # fmt: skip
    found = Profile((one,), sources_of(instructions, kernel.module.files.text))
    for session in current_sessions():
        session.add(found)
    return found
