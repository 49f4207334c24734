# SPDX-License-Identifier: MIT
"""No bit that the package computes changes between releases without an entry of the changelog that names it."""

import zlib

import numpy as np
import pytest

from tools import output_bits
from tools.output_bits import (
    CHANGELOG,
    FILE,
    changed,
    digest_of,
    named_since,
    pinned,
    seal_of,
    sealed,
    sections,
    unnamed,
    wrong,
)
from tools.output_cases import outputs
from wmma_emu.version import __version__

QUICK = 32
"""The quick suite computes one of this many keys."""

TEXT = FILE.read_text(encoding="utf-8")
RELEASE, THEN = pinned(TEXT)
NOTES = CHANGELOG.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_some_bits_equal_the_last_releases_or_are_named_in_the_changelog():
    now = {key: digest_of(x) for key, x in outputs().items() if zlib.crc32(key.encode()) % QUICK == 0}
    then = {key: THEN[key] for key in now if key in THEN}
    assert then
    assert wrong(then, now, [x for x in named_since(RELEASE, NOTES) if unnamed([x], changed(then, now)) == []]) == ""


@pytest.mark.slow
def test_all_bits_equal_the_last_releases_or_are_named_in_the_changelog():
    now = {key: digest_of(x) for key, x in outputs().items()}
    assert wrong(THEN, now, named_since(RELEASE, NOTES)) == ""


def test_the_file_of_digests_belongs_to_the_release_in_the_changelog():
    message = "python -m tools.output_bits --write is for releases, and prints what the changelog then says"
    assert sealed(RELEASE, NOTES) == seal_of(TEXT), message
    assert RELEASE in sections(NOTES)


def test_keys_cover_every_chip_and_every_kind_of_bits():
    kinds = {key.split()[0].split(".")[0] for key in THEN}
    products = {"mma", "wmma", "wgmma", "tcgen05"}
    assert kinds >= products | {"scalar", "cvt", "layout", "quantise", "gemm", "ptx", "recording"}


NEWER = """# Changelog

## Unreleased

### Changed output bits

- Sums of f16 on the H100 are rounded, for a reason. Digests: `mma.sync f32.*
  sm_90`, `gemm like=a`.

### Added

- Something. Digests: `scalar.fma f32`.

## 0.2.0 - 2026-11-27

### Changed output bits

- Older. Digests: `layout wgmma sm_90`.
"""

BEFORE = {"mma.sync f32.f16.f16.f32 sm_90": "a", "gemm like=a": "b", "scalar.fma f32": "c"}
AFTER = {"mma.sync f32.f16.f16.f32 sm_90": "x", "gemm like=a": "y", "scalar.fma f32": "c", "new": "d"}


def test_only_entries_under_the_heading_and_above_the_release_name_keys():
    assert named_since("0.2.0", NEWER) == ["mma.sync f32.* sm_90", "gemm like=a"]
    assert named_since("0.1.0", NEWER)[2:] == ["layout wgmma sm_90"]


def test_what_changed_and_is_named_is_right_and_new_keys_need_no_name():
    assert wrong(BEFORE, AFTER, named_since("0.2.0", NEWER)) == ""


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["gemm *"], "does not say so: mma.sync f32.f16.f16.f32 sm_90\n"),
        (["*"], ""),
        (["mma*", "gemm*", "wgmma*"], "names bits that did not change: wgmma*\n"),
        ([], "Digests: `mma.sync f32.f16.f16.f32 sm_90`, `gemm like=a`."),
    ],
)
def test_a_change_without_a_name_and_a_name_without_a_change_are_told(names, says):
    assert says in wrong(BEFORE, AFTER, names) if says else wrong(BEFORE, AFTER, names) == ""


def test_a_key_that_is_gone_has_changed():
    assert changed({"a": "1"}, {}) == ["a"]


def test_a_digest_sees_bits_shapes_and_types():
    zero = np.zeros(2, np.float32)
    found = {digest_of(lambda x=x: [x]) for x in (zero, -zero, zero[:1], zero.view(np.uint32), zero[None])}
    assert len(found) == 5 and digest_of(lambda: [zero]) == digest_of(lambda: [zero.astype(">f4")])


def test_pinning_is_refused_where_a_change_is_not_named_and_a_release_states_its_file(tmp_path, monkeypatch, capsys):
    file, notes = tmp_path / "bits.txt", tmp_path / "CHANGELOG.md"
    monkeypatch.setattr(output_bits, "FILE", file)
    monkeypatch.setattr(output_bits, "CHANGELOG", notes)
    monkeypatch.setattr(output_bits, "outputs", lambda: {"gemm like=a": lambda: [np.ones(1)]})
    file.write_text(f"release {__version__}\n000000000000 gemm like=a\n", encoding="utf-8")
    notes.write_text(f"## {__version__}\n", encoding="utf-8")
    assert output_bits.main(["--write"]) == 1 and "are pinned" in capsys.readouterr().err
    file.write_text("release 0.0.1\n000000000000 gemm like=a\n", encoding="utf-8")
    notes.write_text("# Changelog\n\n## 0.0.2\n\n## 0.0.1\n", encoding="utf-8")
    assert output_bits.main(["--write"]) == 1 and "Digests: `gemm like=a`." in capsys.readouterr().err
    assert "0.0.1" in file.read_text(encoding="utf-8")
    entry = "### Changed output bits\n\n- All. Digests: `gemm *`."
    notes.write_text(f"# Changelog\n\n## 0.0.2\n\n{entry}\n\n## 0.0.1\n", encoding="utf-8")
    assert output_bits.main(["--write"]) == 0
    said = capsys.readouterr().out.partition(": ")[2]
    text = file.read_text(encoding="utf-8")
    assert sealed("9.9.9", f"## 9.9.9\n\n{said}") == seal_of(text)
    assert pinned(text)[1] == {"gemm like=a": digest_of(lambda: [np.ones(1)])}
