# SPDX-License-Identifier: MIT
"""Products of JAX's programs equal `we.gemm` of the same operands, under every transformation."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: the tests do not depend on it")

import jax.numpy as jnp  # noqa: E402

import wmma_emu as we  # noqa: E402
from wmma_emu.errors import CallError  # noqa: E402
from wmma_emu.testing import assert_bits_equal  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

RNG = np.random.default_rng(0)
A, B, W = (jnp.asarray(RNG.standard_normal(shape), jnp.bfloat16) for shape in ((17, 40), (40, 9), (17, 9)))


def gemm(a, b, **options):
    return we.gemm(np.asarray(a), np.asarray(b), **{"arch": "a100", "out_dtype": a.dtype, **options})


def same(x, y):
    assert x.shape == y.shape
    assert_bits_equal(np.asarray(x), np.asarray(y))


def product(a, b):
    return a @ b


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("arch", ["v100", "a100", "h100"])
def test_a_product_equals_gemm_inside_and_outside_of_jit(dtype, arch):
    a, b = A.astype(dtype), B.astype(dtype)
    emulate = we.jax.emulate(arch)
    expected = gemm(a, b, arch=arch) if (dtype, arch) != ("bfloat16", "v100") else None
    if expected is None:
        expected = gemm(a.astype("float32"), b.astype("float32"), instr="fma.f32", arch="h100", out_dtype="bf16")
    for function in (emulate(product), jax.jit(emulate(product)), emulate(jax.jit(product))):
        same(function(a, b), expected)
    assert len(emulate.log) == 3 and emulate.log[0].shape == (17, 9, 40)


def test_gradients_are_products_inside_and_outside_of_grad():
    def loss(a, b):
        return (a @ b * W).astype(jnp.float32).sum()

    expected = gemm(W, B.T), gemm(A.T, W)
    emulate = we.jax.emulate("a100")
    for function in (
        emulate(jax.grad(loss, (0, 1))),
        jax.grad(emulate(loss), (0, 1)),
        jax.jit(jax.grad(emulate(loss), (0, 1))),
    ):
        for one, other in zip(function(A, B), expected, strict=True):
            same(one, other)
    assert {x.is_backward for x in emulate.log} == {False, True}


def test_gradients_of_products_in_float32_are_products_of_float32_operands():
    def loss(b):
        return (jnp.matmul(A, b, preferred_element_type=jnp.float32) * W).sum()

    a, w = (np.asarray(x).astype(np.float32) for x in (A, W))
    expected = we.gemm(a.T, w, instr="m16n8k8.f32.tf32.tf32.f32", arch="a100", out_dtype="bf16")
    emulate = we.jax.emulate("a100")
    same(emulate(jax.grad(loss))(B), expected)
    same(jax.grad(emulate(loss))(B), expected)


def test_gradients_of_gradients_are_products():
    first = jax.grad(lambda a, b: (a @ b * W).astype(jnp.float32).sum())
    second = jax.grad(lambda b: (first(A, b) * A).astype(jnp.float32).sum())
    same(we.jax.emulate("a100")(second)(B), gemm(A.T, W))


def test_batches_are_separate_matrices():
    batch = jnp.stack([A, -A])
    expected = np.stack([gemm(A, B), gemm(-A, B)])
    emulate = we.jax.emulate("a100")
    same(emulate(jax.vmap(product, (0, None)))(batch, B), expected)
    same(jax.vmap(emulate(product), (0, None))(batch, B), expected)
    same(jax.jit(jax.vmap(emulate(product), (None, 2)))(A, jnp.stack([B, B], 2)), np.stack([gemm(A, B)] * 2))


def test_forward_derivatives_are_products():
    _, tangent = jax.jvp(we.jax.emulate("a100")(lambda a: a @ B), (A,), (A,))
    same(tangent, gemm(A, B))


def test_einsum_and_any_dimension_numbers_are_products_of_matrices():
    x, y = (jnp.asarray(RNG.standard_normal(s), jnp.bfloat16) for s in ((3, 4, 5, 6), (5, 7, 3, 6)))
    found = we.jax.emulate("a100")(lambda x, y: jnp.einsum("abcd,cead->abe", x, y))(x, y)
    expected = gemm(x.reshape(3, 4, 30), y.transpose(2, 0, 3, 1).reshape(3, 30, 7))
    same(found, expected)


def test_control_flow_is_followed():
    square = jnp.asarray(RNG.standard_normal((16, 16)) / 4, jnp.bfloat16)

    def loop(x):
        x, _ = jax.lax.scan(lambda c, _: (c @ square, None), x, None, length=2)
        x = jax.lax.cond(x.shape[0] > 1, lambda y: y @ square, lambda y: y, x)
        x = jax.lax.fori_loop(0, 2, lambda _, y: y @ square, x)
        return jax.checkpoint(lambda y: y @ square)(x)

    emulate = we.jax.emulate("a100")
    x = expected = jnp.asarray(RNG.standard_normal((8, 16)), jnp.bfloat16)
    for _ in range(6):
        expected = jnp.asarray(gemm(expected, square))
    same(emulate(loop)(x), expected)
    same(jax.jit(emulate(loop))(x), expected)


def test_float32_follows_the_precision():
    a, b = A.astype(jnp.float32), B.astype(jnp.float32)
    emulate = we.jax.emulate("a100")
    same(emulate(product)(a, b), gemm(a, b, instr="m16n8k8.f32.tf32.tf32.f32"))
    highest = emulate(lambda a, b: jnp.matmul(a, b, precision="highest"))
    same(highest(a, b), gemm(a, b, instr="fma.f32", arch="h100"))
    with jax.default_matmul_precision("highest"):
        same(emulate(product)(a, b), gemm(a, b, instr="fma.f32", arch="h100"))


def test_preferred_element_types_are_the_accumulators():
    found = we.jax.emulate("a100")(lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32))(A, B)
    same(found, gemm(A, B, out_dtype="f32"))


def test_a_library_is_followed_where_its_products_are_recorded():
    a, b = (jnp.asarray(RNG.standard_normal(s), jnp.bfloat16) for s in ((64, 4096), (4096, 64)))
    emulate = we.jax.emulate("h100", like="cublas")
    same(jax.jit(emulate(product))(a, b), gemm(a, b, like="cublas-sm90-bf16", arch="h100"))
    assert emulate.log[0].order == "recorded"


def test_vectors_integers_and_convolutions_are_left_to_xla_and_counted():
    emulate = we.jax.emulate("a100")
    emulate(product)(A, B[:, 0])
    emulate(product)(jnp.ones((2, 2), jnp.int32), jnp.ones((2, 2), jnp.int32))
    emulate(lambda x: jnp.convolve(x, x))(jnp.ones(8))
    assert len(emulate.log) == 0 and sum(emulate.log.untouched.values()) == 3


def test_other_arguments_and_trees_of_results_are_kept():
    @we.jax.emulate("a100")
    def layer(params, x, *, name, act=None):
        """Multiply."""
        return {name: act(x @ params["w"]), "x": x}

    found = layer({"w": B}, A, name="y", act=jax.nn.relu)
    same(found["y"], jax.nn.relu(jnp.asarray(gemm(A, B))))
    assert layer.__doc__ == "Multiply." and set(found) == {"x", "y"}


def test_numbers_of_python_and_numpy_stay_numbers():
    def rows(a, n, wanted, factor):
        x = a.reshape(n, -1)
        return x @ x.T * factor if wanted else x

    x = A.reshape(34, 20)
    same(we.jax.emulate("a100")(rows)(A, 34, np.bool_(True), 1.0), gemm(x, x.T))


def test_operands_in_two_formats_of_fp8_are_multiplied_as_they_are():
    a, b = A[:, :32].astype(jnp.float8_e4m3fn), B[:32].astype(jnp.float8_e5m2)
    dimensions = (((1,), (0,)), ((), ()))
    found = we.jax.emulate("h100")(
        lambda a, b: jax.lax.dot_general(a, b, dimensions, preferred_element_type=jnp.float32)
    )(a, b)
    same(found, gemm(a, b, instr="wgmma.m64n8k32.f32.e4m3.e5m2", arch="h100", out_dtype="f32"))


def test_integers_that_wrap_around_are_left_to_xla():
    emulate, x = we.jax.emulate("a100"), jnp.full((4, 4), 100, jnp.int8)
    same(emulate(product)(x, x), x @ x)
    assert not emulate.log and sum(emulate.log.untouched.values()) == 1


def test_functions_that_shard_map_maps_are_emulated_and_shard_map_itself_is_counted():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    emulate, spec = we.jax.emulate("a100"), jax.sharding.PartitionSpec("i")

    def mapped(function):
        return jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec)

    same(mapped(emulate(lambda a: a @ B))(A), gemm(A, B))
    same(emulate(mapped(lambda a: a @ B))(A), A @ B)
    assert len(emulate.log) == 1 and list(emulate.log.untouched) == [
        "shard_map, XLA computes the products in it; emulate the function that it maps"
    ]


def test_a_context_and_other_objects_are_refused():
    with pytest.raises(CallError, match="a transformation, not a context"), we.jax.emulate("a100"):
        pass
    with pytest.raises(CallError, match="transforms a function, not 3"):
        we.jax.emulate("a100")(3)
    with pytest.raises(CallError, match="None is not a chip"):
        we.jax.emulate(None)


def test_the_log_has_the_names_of_scopes():
    emulate = we.jax.emulate("a100")

    def model(a, b):
        with jax.named_scope("layer"):
            return a @ b

    emulate(model)(A, B)
    assert emulate.log[0].module == "layer"
