# SPDX-License-Identifier: MIT
"""The warnings that fail a test: warnings about this project and its libraries, not about other plug-ins of pytest."""

import warnings

import numpy as np
import pytest

from wmma_emu import errors

OWN = sorted(name for name in errors.__all__ if name.endswith("Warning"))


def warn(category, module):
    warnings.warn_explicit("something", category, f"{module}.py", 1, module=module)


@pytest.mark.parametrize("module", ["wmma_emu.gemm", "tests.test_api", "pytest_wmma_emu", "numpy.linalg", "__main__"])
@pytest.mark.parametrize("category", [UserWarning, DeprecationWarning, ResourceWarning])
def test_a_warning_in_code_of_the_project_or_its_libraries_is_an_error(category, module):
    with pytest.raises(category):
        warn(category, module)


@pytest.mark.parametrize("name", OWN)
def test_a_warning_of_this_package_is_an_error_wherever_it_is_given(name):
    with pytest.raises(getattr(errors, name)):
        warn(getattr(errors, name), "concurrent.futures.thread")


def test_what_numpy_warns_of_is_an_error():
    with pytest.raises(RuntimeWarning):
        np.float32(1) / np.float32(0)


@pytest.mark.parametrize("module", ["pytest_benchmark.logger", "_pytest.config", "xdist.plugin", "coverage.control"])
@pytest.mark.parametrize("category", [pytest.PytestWarning, pytest.PytestAssertRewriteWarning, DeprecationWarning])
def test_a_warning_about_a_plug_in_does_not_fail_a_test(category, module):
    with warnings.catch_warnings(record=True) as said:
        warn(category, module)
    assert [x.category for x in said] == [category]


@pytest.mark.parametrize("name", ["PytestUnraisableExceptionWarning", "PytestUnhandledThreadExceptionWarning"])
def test_an_exception_that_no_test_noticed_is_an_error(name):
    with pytest.raises(getattr(pytest, name)):
        warn(getattr(pytest, name), "_pytest.unraisableexception")
