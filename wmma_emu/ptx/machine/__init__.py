# SPDX-License-Identifier: MIT
"""Threads that execute a program: who goes on, who waits, who has left."""
