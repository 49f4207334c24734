# SPDX-License-Identifier: MIT
"""Histories of findings: accesses to bytes, and events at barriers, recorded while a launch runs again."""

from wmma_emu.ptx.history.events import Event
from wmma_emu.ptx.history.history import History
from wmma_emu.ptx.history.recording_launch import RecordingLaunch
from wmma_emu.ptx.history.story import HistorySubject
from wmma_emu.ptx.history.watch import Watch
from wmma_emu.renamed import renamed_names

__all__ = ["Event", "History", "HistorySubject", "RecordingLaunch", "Watch"]

__getattr__ = renamed_names(__name__, {"Subject": "HistorySubject", "WatchedLaunch": "RecordingLaunch"})
