# SPDX-License-Identifier: MIT
"""Helion's configurations without Helion: which one a kernel takes, with stand-ins."""

import functools
from types import SimpleNamespace

import pytest

from wmma_emu.languages import Session
from wmma_emu.languages.helion.configurations import DefaultConfiguration
from wmma_emu.languages.helion.devices import forget


class Spec:
    """The space of a kernel's configurations: block sizes, whose default is 64."""

    def default_config(self):
        return 64

    def shrink_block_sizes_once(self, size):
        return size // 2 if size > 1 else None


class TunedKernel:
    """A kernel with a list of configurations, perhaps empty."""

    name, resets = "add", 0

    def __init__(self, *configs):
        self.configs = list(configs)

    def reset(self):
        self.resets += 1


def bound(kernel, effort="full", forced=False):
    return SimpleNamespace(
        kernel=kernel, config_spec=Spec(), settings=SimpleNamespace(autotune_effort=effort, force_autotune=forced)
    )


@pytest.fixture
def backend():
    class Backend:
        def autotune(self, bound, arguments, *, force=True, **named):
            return "Helion's own"

    return Backend


def chosen(backend, session, kernel, largest=100, **named):
    tuning = DefaultConfiguration(session, backend, lambda bound, size, arguments, arch: size <= largest)
    tuning.install()
    try:
        return backend().autotune(bound(kernel, **named), (), force=False)
    finally:
        tuning.uninstall()


def test_a_kernel_without_configurations_takes_the_default_and_the_report_names_it(backend):
    session = Session("h100")
    assert chosen(backend, session, TunedKernel()) == 64
    assert list(session.notes) == [
        "add is autotuned by Helion: no time is measured, and the default configuration is taken, 64"
    ]


def test_a_default_that_does_not_fit_is_halved_until_it_does(backend):
    assert chosen(backend, Session("h100"), TunedKernel(), largest=20) == 16


def test_if_nothing_fits_the_default_is_taken_so_that_its_error_is_raised(backend):
    assert chosen(backend, Session("h100"), TunedKernel(), largest=0) == 64


def test_of_several_configurations_the_first_that_fits_is_taken(backend):
    session = Session("h100")
    assert chosen(backend, session, TunedKernel(128, 32, 16)) == 32
    assert "of 3 configurations the first that fits is taken, 32" in next(iter(session.notes))


def test_a_fixed_configuration_and_a_kernel_that_is_not_tuned_are_left_to_helion(backend):
    session = Session("h100")
    assert chosen(backend, session, TunedKernel(128)) == "Helion's own"
    assert chosen(backend, session, TunedKernel(), effort="none") == "Helion's own"
    assert not session.notes


def test_forced_tuning_ignores_the_configurations(backend):
    assert chosen(backend, Session("h100"), TunedKernel(16, 32), forced=True) == 64


def test_afterwards_the_method_is_helions_and_choices_are_forgotten(backend):
    before, kernel = backend.autotune, TunedKernel()
    chosen(backend, Session("h100"), kernel)
    assert (backend.autotune, kernel.resets) == (before, 1)


def test_what_functions_keep_about_a_device_is_forgotten():
    asked = []
    module = SimpleNamespace(name=functools.cache(lambda: asked.append(1)), other=3)
    module.name()
    forget(module)
    module.name()
    assert asked == [1, 1]
