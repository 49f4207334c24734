# SPDX-License-Identifier: MIT
"""What happened to some bytes, or at some barriers, of a launch: noted while it runs again, and told in its order."""

from wmma_emu.ptx.history.events import Event
from wmma_emu.ptx.history.history import History
from wmma_emu.ptx.history.story import Subject
from wmma_emu.ptx.history.touched import Watch
from wmma_emu.ptx.history.watched_launch import WatchedLaunch

__all__ = ["Event", "History", "Subject", "Watch", "WatchedLaunch"]
