# SPDX-License-Identifier: MIT
"""Launches of Triton kernels of public repositories: what a launch gives, and what is imported of a checkout."""

import sys

import pytest

from tools.public_kernels.triton_cases import Repository


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository whose packages import everything when they are imported."""
    package = tmp_path / "things" / "src" / "public_things" / "ops"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("raise ImportError('everything')")
    (package / "scale.py").write_text(
        "from nowhere_to_be_found.deep import anything\nfrom ..helpers import two\nVALUE = two() + len([anything])\n"
    )
    (tmp_path / "things" / "src" / "script.py").write_text("VALUE = 5\nprint('before')\n\nlaunch_much()\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("public_things", "nowhere_to_be_found"):
            del sys.modules[name]


def test_a_module_is_imported_without_what_its_packages_import(checkout):
    given = {"public_things.helpers": {"two": lambda: 2}}
    repository = Repository("owner/things", "0" * 40, "MIT", "src", ("nowhere_to_be_found",), given)
    assert repository.module(checkout, "public_things.ops.scale").VALUE == 3


def test_a_script_is_read_up_to_its_launches(checkout):
    repository = Repository("owner/things", "0" * 40, "MIT", "src", until="\n\nlaunch_much(")
    assert repository.module(checkout, "script").VALUE == 5


def test_a_missing_checkout_is_named_with_its_revision(tmp_path):
    with pytest.raises(OSError, match=r"check out https://github.com/owner/things at 0{40}"):
        Repository("owner/things", "0" * 40, "MIT").module(tmp_path, "anything")


def test_a_launch_of_host_code_is_captured_as_triton_specialises_it():
    torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
    from examples.ptx.triton_norms import rms_norm
    from tools.public_kernels.triton_launches import captured

    def host():
        x, gain, out, scale = torch.ones(3, 48), torch.ones(48), torch.empty(3, 48, device="cuda"), torch.empty(3)
        rms_norm[(3,)](x, gain, out, scale, 48, 1e-6, False, triton.next_power_of_2(48), num_warps=2)

    found = captured(host, "rms_norm")
    assert (found.launch.grid, found.launch.block) == ((3, 1, 1), (64,))
    assert ".entry rms_norm(" in found.text and ".loc" not in found.text
    assert sorted(found.launch.arrays) == ["gain_ptr", "out_ptr", "scale_ptr", "x_ptr"]
    assert captured(host, "rms_norm").launch.arrays["out_ptr"].tolist() == found.launch.arrays["out_ptr"].tolist()
    with pytest.raises(RuntimeError, match="launches rms_norm, and never layer_norm"):
        captured(host, "layer_norm")
