# SPDX-License-Identifier: MIT
"""``wmma-emu doctor`` lists what each extra asks for, by whatever name."""

from types import SimpleNamespace

from wmma_emu.cli import doctor


def test_an_extra_of_other_extras_lists_what_they_bring(monkeypatch, run):
    requires = ["numpy>=2", "ml_dtypes; extra == 'fast'", "absent_a; extra == 'fast'", "absent_b; extra == 'test'",
                "wmma-emu[fast]; extra == 'test'"]  # fmt: skip
    monkeypatch.setattr(doctor, "distribution", lambda name: SimpleNamespace(requires=requires))
    status, out, _ = run("doctor")
    (row,) = [x for x in out.splitlines() if x.startswith("test")]
    assert status == 0 and "ml_dtypes" in row and "absent_a" in row and "absent_b" in row and "wmma" not in row
