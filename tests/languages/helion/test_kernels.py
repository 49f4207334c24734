# SPDX-License-Identifier: MIT
"""Helion's kernels on an emulated chip: what they compute, which device they see, and a bug that is found."""

import pytest

import wmma_emu as we
from wmma_emu.errors import KernelFindingsError, OptionError

torch = pytest.importorskip("torch", reason="torch is not installed")
helion = pytest.importorskip("helion", reason="helion is not installed")
pytest.importorskip("triton")

import helion.language as hl  # noqa: E402 # if there is Helion

pytestmark = [
    pytest.mark.thorough, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("caches"),
]  # fmt: skip


@pytest.fixture
def caches(tmp_path, monkeypatch):
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "HELION_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))


@helion.kernel(config=helion.Config(block_sizes=[32, 32]))
def add(x, y):
    out = torch.empty_like(x)
    for tile in hl.tile(out.size()):
        out[tile] = x[tile] + y[tile]
    return out


@helion.kernel()
def row_sums(x):
    out = torch.empty([x.size(0)], dtype=x.dtype, device=x.device)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile, :].sum(-1)
    return out


def test_a_kernel_with_a_fixed_configuration_computes_and_is_launched_once():
    with we.emulate("h100", findings="raise") as session:
        x, y = torch.randn(70, 50, device="cuda"), torch.randn(70, 50, device="cuda")
        assert torch.equal(add(x, y), x + y)
    assert [(x.language, x.kernel) for x in session.report.launches] == [("Triton", "_helion_add")]
    assert not session.report.notes


def test_without_a_configuration_the_default_is_taken_and_noted():
    with we.emulate("h100", findings="raise") as session:
        x = torch.arange(96.0, device="cuda").reshape(6, 16)
        assert torch.equal(row_sums(x), x.sum(-1))
    said = " ".join(session.report.notes)
    assert said.startswith("row_sums is autotuned by Helion: no time is measured, and the default configuration is")


def test_a_load_past_the_end_is_found():
    @helion.kernel(config=helion.Config(block_sizes=[64]))
    def difference(x):
        out = torch.empty_like(x)
        for tile in hl.tile(x.size(0)):
            out[tile] = x[tile.index + 1] - x[tile]
        return out

    with we.emulate("a100", findings="raise"), pytest.raises(KernelFindingsError, match=r"reads x\[100\]"):
        difference(torch.ones(100, device="cuda"))


def test_a_persistent_kernel_has_a_block_for_each_multiprocessor_of_the_chip():
    grids = []

    @helion.kernel(config=helion.Config(block_sizes=[16], pid_type="persistent_blocked"))
    def twice(x):
        out = torch.empty_like(x)
        for tile in hl.tile(x.size(0)):
            out[tile] = 2 * x[tile]
        return out

    with we.emulate("a100", findings="raise", watch=lambda done: grids.append(done.launch.grid)):
        x = torch.randn(3000, device="cuda")
        assert torch.equal(twice(x), 2 * x)
    assert [x for x, *_ in grids] == [108]


def test_a_function_that_indexes_a_tensor_is_an_epilogue():
    @helion.kernel(config=helion.Config(block_sizes=[16, 16]))
    def after(x, function):
        out = torch.empty_like(x)
        for tile in hl.tile(out.size()):
            out[tile] = function(x[tile], tile)
        return out

    with we.emulate("h100", findings="raise"):
        x, bias = torch.randn(30, 20, device="cuda"), torch.randn(20, device="cuda")
        assert torch.equal(after(x, lambda y, tile: y + bias[tile[1]]), x + bias)


def test_a_kernel_runs_on_two_chips_in_turn():
    for arch in ("a100", "h100"):
        with we.emulate(arch, findings="raise") as session:
            x = torch.randint(-9, 9, (9, 33), device="cuda").float()
            assert torch.equal(add(x, x), 2 * x)
            assert torch.equal(row_sums(x), x.sum(-1))
            assert len(session.report.launches) == 2


def test_leaving_the_emulation_restores_helion():
    from helion._compiler.backend import Backend
    from helion._compiler.compile_environment import CompileEnvironment

    def state():
        names = "autotune", "normalize_input_fake_tensor"
        methods = [vars(Backend)[x] for x in names]
        return [*methods, vars(CompileEnvironment)["__enter__"], helion.runtime.get_num_sm]

    before = state()
    with we.emulate("h100"):
        assert not any(x is y for x, y in zip(before, state(), strict=True))
    assert all(x is y for x, y in zip(before, state(), strict=True))


def test_a_version_without_what_is_replaced_is_refused_with_the_versions_that_work(monkeypatch):
    from helion._compiler.backend import Backend

    monkeypatch.delattr(Backend, "normalize_input_fake_tensor")
    with (
        pytest.raises(OptionError, match=r"Helion does not work with helion.*tested with helion 1\.5\.1"),
        we.emulate("h100"),
    ):
        pass
