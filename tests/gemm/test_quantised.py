# SPDX-License-Identifier: MIT
"""What `quantise` returned is an operand: its elements, its scales, and alpha of its tensor scales."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.formats import format_of
from wmma_emu.quantise import BlockScaled, quantise
from wmma_emu.scalar import reference

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

UNSUPPORTED, MISMATCH = we.UnsupportedInstructionError, we.FragmentMismatchError
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((5, 96)).astype(np.float32), RNG.standard_normal((96, 3)).astype(np.float32)


def pair(name):
    return quantise(X, name), quantise(Y, name, axis=0)


def raw(x):
    return np.asarray(x).view(np.uint32)


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"])
def test_elements_and_scales_are_taken_out(name, arch):
    a, b = pair(name)
    apart = {"scale_a": a.scales, "scale_b": b.scales, "arch": arch}
    D = we.gemm(a.elements, b.elements, **apart)
    np.testing.assert_array_equal(raw(we.gemm(a, b, arch=arch)), raw(D))
    assert we.explain(None, a, b, row=4, col=2, arch=arch).result == raw(D)[4, 2]
    found = we.compare_archs(a, b, archs=[arch])
    np.testing.assert_array_equal(raw(found.results[arch]), raw(D))


def test_one_of_two_may_come_with_its_scales():
    a, b = pair("mxfp8_e4m3")
    D = raw(we.gemm(a, b, arch="sm_120"))
    np.testing.assert_array_equal(raw(we.gemm(a, b.elements, scale_b=b.scales, arch="sm_120")), D)
    np.testing.assert_array_equal(raw(we.gemm(a.elements, b, scale_a=a.scales, arch="sm_120")), D)
    mixed = we.gemm(a, quantise(Y, "mxfp4_e2m1", axis=0), arch="sm_120")
    assert mixed.shape == (5, 3)


def test_one_instruction_takes_them_too():
    a, b = quantise(np.ones((16, 32), np.float32), "mxfp8_e4m3"), quantise(np.ones((32, 8), np.float32), "mxfp8_e4m3",
                                                                          axis=-2)  # fmt: skip
    assert set(we.mma(a, b, arch="sm_120").ravel().tolist()) == {32.0}


def test_tensor_scales_are_alpha_their_product_rounded_once():
    a, b = pair("nvfp4")
    word = reference.mul(int(raw(a.tensor_scale)), int(raw(b.tensor_scale)), format_of("f32"))
    alpha = np.array(word, np.uint32).view(np.float32)
    apart = {"scale_a": a.scales, "scale_b": b.scales, "arch": "sm_120"}
    D = we.gemm(a.elements, b.elements, alpha=alpha, **apart)
    np.testing.assert_array_equal(raw(we.gemm(a, b, arch="sm_120")), raw(D))
    np.testing.assert_array_equal(raw(we.compare_archs(a, b, archs=["sm_120"]).results["sm_120"]), raw(D))
    C = np.ones((5, 3), np.float32)
    behind = we.gemm(a.elements, b.elements, C, alpha=alpha, beta=1, **apart)
    np.testing.assert_array_equal(raw(we.gemm(a, b, C, beta=1, arch="sm_120")), raw(behind))
    one = we.gemm(a, b.elements, scale_b=b.scales, arch="sm_120")
    np.testing.assert_array_equal(raw(one), raw(we.gemm(a.elements, b.elements, alpha=a.tensor_scale, **apart)))


def test_leading_axes_and_ragged_k_are_as_elsewhere():
    x = np.stack([X[:, :70], -X[:, :70]])
    a, b = quantise(x, "mxfp8_e5m2", pad=True), quantise(Y[:70], "mxfp8_e5m2", axis=0, pad=True)
    D = we.gemm(a, b, arch="sm_120")
    assert D.shape == (2, 5, 3)
    np.testing.assert_array_equal(D[0], -D[1])


SQUARE = np.ones((64, 64), np.float32)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda a, b: we.gemm(b, a, arch="sm_120"), MISMATCH, "A is .*: its blocks are along axis 0, but k is axis -1"),
        # Square: shapes alone would have let it pass.
        (lambda a, b: we.gemm(quantise(SQUARE, "nvfp4"), quantise(SQUARE, "nvfp4"), arch="sm_120"), MISMATCH,
         "B is .*: its blocks are along axis 1, but k is axis -2; quantise it with axis=-2"),
        (lambda a, b: we.gemm(a, b, scale_a=a.scales, arch="sm_120"), UNSUPPORTED, "scale_a was given, and A is .*has"),
        (lambda a, b: we.gemm(a, b.elements, arch="sm_120"), UNSUPPORTED, "scale_a was given without scale_b"),
        (lambda a, b: we.gemm(a, b, alpha=2, arch="sm_120"), UNSUPPORTED, "alpha=2 was given, but the tensor scales"),
        (lambda a, b: we.gemm(a, b, np.ones((5, 3), "f4"), arch="sm_120"), UNSUPPORTED, "pass beta=1, which adds C"),
        (lambda a, b: we.mma(a, b, arch="sm_120"), UNSUPPORTED, "tensor scale, which one instruction does not"),
        (lambda a, b: we.explain(None, a, b, row=0, col=0, arch="sm_120"), UNSUPPORTED, "which explain does not"),
        (lambda a, b: we.gemm(a, b, arch="sm_90"), UNSUPPORTED, "sm_90 .* has no instruction with block scales"),
        (lambda a, b: we.gemm(a, b, like="cublas-sm90-e4m3"), UNSUPPORTED, "is recorded with scales of 1"),
        (lambda a, b: we.gemm(a, pair("mxfp4_e2m1")[1], arch="sm_120"), MISMATCH,
         "scale_a is of ue4m3 and scale_b of ue8m0; .* quantise both to one block format"),
        (lambda a, b: we.gemm(*pair("mxint8"), arch="sm_120"), UNSUPPORTED, "no instruction multiplies s8 by s8"),
        (lambda a, b: we.gemm(quantise(X[0], "nvfp4"), b, arch="sm_120"), MISMATCH, "add an axis of length 1"),
    ],
    ids=range(13),
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_with_a_message(call, kind, message):
    with pytest.raises(kind, match=message):
        call(*pair("nvfp4"))


def test_one_made_by_hand_is_read_as_dequantise_reads_it():
    a, b = pair("nvfp4")
    by_hand = BlockScaled(a.elements, a.scales, a.block_format, -1, float(a.tensor_scale))
    np.testing.assert_array_equal(raw(we.gemm(by_hand, b, arch="sm_120")), raw(we.gemm(a, b, arch="sm_120")))
    with pytest.raises(MISMATCH, match=r"tensor_scale=0\.1 is not a float32"):
        we.gemm(BlockScaled(a.elements, a.scales, a.block_format, 1, 0.1), b, arch="sm_120")


def test_nothing_that_is_given_is_changed():
    a, b = pair("mxfp4_e2m1")
    for x in (a.elements, a.scales, b.elements, b.scales):
        x.flags.writeable = False
    before = [x.tobytes() for x in (a.elements, a.scales, b.elements, b.scales)]
    swapped = BlockScaled(np.asfortranarray(a.elements), a.scales[:, ::-1][:, ::-1], a.block_format, 1)
    np.testing.assert_array_equal(raw(we.gemm(swapped, b, arch="sm_120")), raw(we.gemm(a, b, arch="sm_120")))
    assert [x.tobytes() for x in (a.elements, a.scales, b.elements, b.scales)] == before
    assert a.scales.dtype == ml_dtypes.float8_e8m0fnu
