# SPDX-License-Identifier: MIT
"""From a finding to its history: choose the bytes or barriers to watch, and run the launch again."""

from functools import partial

from wmma_emu.errors import LaunchLimitError, WmmaEmuError
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.findings import Sighting, place_of
from wmma_emu.ptx.history import History, HistorySubject, RecordingLaunch, Watch
from wmma_emu.ptx.history.reasons import conclusion
from wmma_emu.ptx.history.story import build_story
from wmma_emu.ptx.history.words import place_text
from wmma_emu.ptx.launch.options import Course
from wmma_emu.ptx.launch.replay import Replay
from wmma_emu.ptx.memory.races.race import RACE, UNUSED
from wmma_emu.ptx.orders import BACKWARDS
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.reports.words import source_text
from wmma_emu.ptx.threads import Dim3, index_of, linear_of

_KINDS_WITH_ORIGINS = ("uninitialised", "partly uninitialised")
"""Kinds whose bytes are those from which a value was loaded, at another line."""


def explain_sighting(replay: Replay | None, sighting: Sighting) -> History:
    """Run a launch again, and return the history of the bytes, or of the barriers, of a finding.

    The replay is None for reports that were copied, because copies do not include it.
    """
    if replay is None:
        raise WmmaEmuError(
            "the data of the launch was not kept: this finding was copied, or came from another process. explain() "
            "works only on the report that the launch returned"
        )
    launch = replay.launch
    watch = _watch_of(sighting, launch.grid, launch.block)
    recorder = RecordingLaunch(watch)
    course = replay.course_of(sighting)
    try:
        found = replay.run(course, recorder)
        ended = ""
    except LaunchLimitError:
        found, ended = [], ", until it reached its limit of steps or memory"
    recorder.settle()
    is_replayed = any(_is_same(x, sighting) for x in found)
    subject = _subject_of(sighting, watch, replay)
    story = build_story(recorder.log, subject, launch.kernel.program, partial(source_text, names=replay.names))
    met = ", and reproduced the finding" if is_replayed else "" if ended else ", and did not reproduce the finding"
    said = conclusion(story, subject)
    if not is_replayed:
        said = (*said, "This is the history of a run without the finding: its conclusions may be wrong.")
    title = f"{sighting.kind} at {place_text(subject.place)} in {launch.kernel.called}"
    replayed = f"The launch was run again for this{_order(course)}{ended}{met}."
    return History(
        title, _watched(watch, sighting, replay), replayed, is_replayed, story.events, story.here, story.other, said,
        recorder.log.left_out,
    )  # fmt: skip


def _order(course: Course) -> str:
    late = " with asynchrony='late'" if course.asynchrony.is_late else ""
    if course.seed is None:
        return late
    return late + (" with its last thread first" if course.seed == BACKWARDS else f" with schedule={course.seed}")


def _is_same(found: Sighting, sighting: Sighting) -> bool:
    """Return whether a run reproduced a finding; a single run cannot show that a value is unused."""
    kinds = {sighting.kind} | ({RACE} if sighting.kind == UNUSED else set())
    lines = {sighting.line} | {x.line for x in sighting.others}
    return found.kind in kinds and (found.line == sighting.line or (bool(found.others) and found.line in lines))


def _watch_of(sighting: Sighting, grid: Dim3, block: Dim3) -> Watch:
    """Choose what to watch: the origin of an uninitialised value, else the bytes of the access, else barriers."""
    index, thread = linear_of(sighting.block or (0, 0, 0), grid), linear_of(sighting.thread or (0, 0, 0), block)
    if sighting.register is not None:
        return Watch(block=index, thread=thread, register=sighting.register.number, line=sighting.line)
    where = sighting.location
    line = sighting.line if sighting.kind in _KINDS_WITH_ORIGINS else 0
    if where is None or (sighting.address is None and not line):
        return Watch(block=index, lanes=True)
    if where.space in ("shared", "local"):
        own = thread if where.space == "local" else -1
        return Watch(where.space, where.address, where.size, index, own, line=line)
    return Watch("param" if where.space == "param" else "global", where.address, where.size, line=line)


def _subject_of(sighting: Sighting, watch: Watch, replay: Replay) -> HistorySubject:
    kernel, block = replay.launch.kernel, replay.launch.block
    warp, lane = divmod(linear_of(sighting.thread or (0, 0, 0), block), LANES)
    writers = [x for x in kernel.program.instructions if watch.register >= 0 and watch.register in writes(x)]
    message, first = source_text(sighting.said, replay.names), sighting.block or (0, 0, 0)
    return HistorySubject(
        sighting.kind, message, sighting.place, first, warp, lane, sighting.others, watch.size > 0,
        watch.register >= 0, tuple(place_of(x) for x in writers),
    )  # fmt: skip


def _watched(watch: Watch, sighting: Sighting, replay: Replay) -> str:
    launch = replay.launch
    owner = f" of block {index_of(watch.block, launch.grid)}" if watch.block >= 0 else ""
    if watch.thread >= 0:
        owner = f" of thread {index_of(watch.thread, launch.block)}{owner}"
    if watch.register >= 0:
        return f"register {launch.kernel.program.registers[watch.register].name}{owner}"
    where = sighting.location
    if watch.size and where is not None:
        element = replay.names.element(where)
        return f"{element} ({where.bytes_text} at {where.at}){owner}" if element else f"{where}{owner}"
    return f"the barriers{owner}"
