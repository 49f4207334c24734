# SPDX-License-Identifier: MIT
"""The option ``--emulate``: kernels that tests launch in Triton and other languages run on an emulated chip."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from wmma_emu.errors import WmmaEmuError
from wmma_emu.languages import Session, emulate, environment


def begin(config: pytest.Config, rules: Callable[[], Any], watch: Callable[[Any], None]) -> None:
    """Begin the emulation for the whole run; findings fail tests by the rules for `emulated_gpu`."""
    chip, stack = config.getoption("emulate"), ExitStack()
    environment.end()
    try:
        options = {name: config.getoption(f"ptx_{name}") for name in ("schedules", "asynchrony")}
        session = stack.enter_context(emulate(chip, findings=rules, watch=watch, **options))
    except WmmaEmuError as error:
        raise pytest.UsageError(f"--emulate={chip}: {error}; without a chip, write --emulate at the end") from error
    config.add_cleanup(stack.close)
    config.pluginmanager.register(_Summary(session))


class _Summary:
    def __init__(self, session: Session) -> None:
        self._session = session

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the report of all launches."""
        terminalreporter.section("kernels on the emulator")
        terminalreporter.write_line(str(self._session.report))
