# SPDX-License-Identifier: MIT
"""The pytest plugin: a fixture that runs CUDA and Triton kernels without a GPU. It imports nothing until it is used."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu


_SILENCE = "wmma_emu_silence"
_MEANING = "findings of one kind at one line (of the PTX, or 'file.cu:16') that are right as they are"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("wmma-emu", "CUDA and Triton kernels without a GPU (wmma-emu)")
    group.addoption(
        "--ptx-schedules", metavar="N", type=int, default=1,
        help="run each launch of `emulated_gpu` with its warps in N orders, and compare the results bit for bit",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Declare the plugin's marker."""
    config.addinivalue_line("markers", f"{_SILENCE}(kind, line, reason): {_MEANING}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Silence what the test's markers say, in all launches of the test."""
    marks = list(item.iter_markers(_SILENCE))
    if not marks:
        return (yield)
    from wmma_emu.errors import OptionError
    from wmma_emu.ptx.launch.silences import Silence, enforced

    silences, wrong = [], ""
    for mark in marks:
        try:
            silences.append(Silence(*mark.args, **mark.kwargs))
        except (TypeError, OptionError) as error:
            given = [*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())]
            reason = str(error).removeprefix("Silence.__init__() ")
            wrong = f"@pytest.mark.{_SILENCE}({', '.join(given)}) is not {_SILENCE}(kind, line, reason): {reason}"
    if wrong:  # outside of the handler, whose error pytest would show as well
        pytest.fail(wrong, pytrace=False)
    with enforced(silences) as silencing:
        result = yield
    for unused in silencing.unused:
        item.warn(pytest.PytestWarning(f"this marker silenced nothing: {_SILENCE} of {unused}"))
    return result


@pytest.fixture(scope="session")
def emulated_gpu(request: pytest.FixtureRequest) -> "EmulatedGpu":
    """A GPU that is not there: ``cuda``, ``triton``, ``ptx`` and ``file`` give modules.

    Launches raise on findings that are errors, and after 60 seconds; ``max_seconds`` of a module or a launch says
    otherwise. Findings that are warnings are warnings of the test.
    """
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu

    return EmulatedGpu(schedules=request.config.getoption("ptx_schedules"))
