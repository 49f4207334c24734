# SPDX-License-Identifier: MIT
"""Comparisons of chips on models with random weights."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(1024, 64), torch.nn.ReLU(), torch.nn.Linear(64, 100)]
    return torch.nn.Sequential(*layers).half()


X = numbers(32, 1024, dtype=torch.float16)


def test_layers_are_compared_in_order_and_equal_separate_runs(model):
    found = we.torch.compare(model, X, chips=["a100", "h100"])
    assert [x.layer for x in found.of("h100")] == ["0", "1", "2", "output"]
    outputs = []
    for chip in ("a100", "h100"):
        with we.torch.emulate(chip), torch.no_grad():
            outputs.append(model[0](X))
    first = found.of("h100")[0].distance
    assert first.statistics.differing == int((outputs[0] != outputs[1]).sum()) > 0
    assert found.first_difference("h100").layer == "0"


def test_mechanisms_are_those_in_which_the_models_differ_and_explain_everything(model):
    found = we.torch.compare(model, X, chips=["a100", "h100", "v100"])
    names = {chip: [x.mechanism for x in found.mechanisms if x.chip == chip] for chip in ("h100", "v100")}
    assert names == {"h100": ["bits cut", "products per step"], "v100": ["bits cut", "products per step"]}
    assert found.explained == {"h100": True, "v100": True}


def test_a_mechanism_alone_is_the_reference_with_the_fields_of_the_chip(model):
    found = we.torch.compare(model, X, chips=["a100", "h100"], products=False)
    with torch.no_grad():
        with we.torch.emulate("a100"):
            reference = model(X)
        with we.torch.emulate("a100", changes={"fraction_bits": 25, "min_exponent": -133}):
            alone = model(X)
        with we.torch.emulate("h100", model_of={"fraction_bits": "a100", "min_exponent": "a100"}):
            without = model(X)
    bits = found.mechanisms[0]
    assert bits.alone.statistics.differing == int((alone != reference).sum()) > 0
    assert bits.without.statistics.differing == int((without != reference).sum())


def test_matrix_instructions_against_multiply_adds_are_one_mechanism(model):
    x = X.bfloat16()
    found = we.torch.compare(model.bfloat16(), x, chips=["a100", "v100"])
    model.half()
    assert [x.mechanism for x in found.mechanisms] == ["instruction"] and found.explained["v100"]


def test_options_can_be_compared_instead_of_chips(model):
    four = {"arch": "h100", "k_order": we.KOrder(splits=4)}
    found = we.torch.compare(model, X, chips={"one range": "h100", "four ranges": four})
    assert [x.mechanism for x in found.mechanisms] == ["order of k"] and found.explained == {"four ranges": True}
    assert found.reference == "one range" and found.of("four ranges")[0].distance.share > 0


def test_options_of_one_chip_are_switched_like_fields_of_two(model):
    for options in ({"changes": {"fraction_bits": 20}}, {"model_of": {"fraction_bits": "v100"}}):
        found = we.torch.compare(model, X, {"h100": "h100", "other": {"arch": "h100", **options}}, products=False)
        (bits,) = found.mechanisms
        assert bits.mechanism == "bits cut" and found.explained == {"other": True}
        assert bits.alone == found.output("other") and bits.without.share == 0 < bits.alone.share


def test_a_model_that_writes_into_its_inputs_has_the_same_inputs_in_every_run(model):
    x = X.clone()
    found = we.torch.compare(lambda y: model(y.mul_(2)), x, ["h100", "sm_90"], products=False)
    same(x, X)
    assert found.output("sm_90").share == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_modules_are_compared_by_their_output(model):
    found = we.torch.compare(torch.jit.script(model), X, ["a100", "h100"], products=False)
    assert [x.layer for x in found.of("h100")] == ["output"] and found.explained["h100"]


def test_an_output_without_rows_has_no_decision(model):
    found = we.torch.compare(lambda x: model(x).sum(), X, ["a100", "h100"], products=False)
    assert "choose" not in str(found)


def test_batches_leave_the_state_of_a_model_as_it_was():
    model = torch.nn.Sequential(torch.nn.Conv1d(4, 8, 3), torch.nn.BatchNorm1d(8)).half()
    we.torch.batch_invariance(model, numbers(2, 4, 9, dtype=torch.float16), ["h100"], batches=[2])
    assert int(model[1].num_batches_tracked) == 0 and not model[1].running_mean.any()


def test_products_of_equal_operands_show_what_rounding_hides(model):
    found = we.torch.compare(model, X, chips=["a100", "h100"], mechanisms=False)
    first = found.products[0]
    d = {
        chip: we.gemm(X, model[0].weight.detach().T, bias=model[0].bias.detach(), arch=chip)
        for chip in ("a100", "h100")
    }
    assert first.accumulators.statistics.differing == int((d["a100"] != d["h100"]).sum())
    assert first.accumulators.share > 10 * first.results.share > 0
    assert (first.module, first.operation, first.size) == ("Sequential.0", "addmm", "32x64x1024")


def test_gradients_are_compared_with_a_loss_and_the_models_state_is_kept():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv1d(4, 8, 3), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5)).half()
    before = {name: x.clone() for name, x in model.state_dict().items()}
    found = we.torch.compare(
        model, numbers(2, 4, 99, dtype=torch.float16), ["a100", "h100"], loss=lambda y: y.float().square().sum()
    )
    assert {"gradient of 0.weight", "gradient of 0.bias"} <= {x.layer for x in found.of("h100")}
    for name, x in model.state_dict().items():
        same(x, before[name])
    assert all(x.grad is None for x in model.parameters())


def test_the_first_decision_that_changes_is_named():
    weight = torch.zeros(2, 16, dtype=torch.float16)
    weight[0], weight[1, 0] = 2**-12, 1
    x = torch.full((3, 16), 1.75 * 2**-12, dtype=torch.float16)
    x[2, 0] = 1

    def model(x):
        products = torch.mm(x, weight.T, out_dtype=torch.float32)
        whole = torch.mm(x, weight.abs().amax(0)[:, None], out_dtype=torch.float32)
        return torch.cat([torch.full_like(whole, 1 + 2.0**-20), whole + 0 * products[:, :1]], 1)

    found = we.torch.compare(model, x, ["a100", "h100"])
    (decision,) = found.decisions
    assert (decision.rows, decision.changed, decision.first) == (3, 1, (2,))
    assert (decision.reference_choice, decision.choice) == (0, 1) and decision.margin == 2**-20 - 7 * 2**-23


def test_dictionaries_and_tuples_of_inputs_are_arguments():
    def model(a, b):
        return a @ b

    a, b = X, numbers(1024, 8, dtype=torch.float16)
    outputs = [we.torch.compare(model, x, ["a100", "h100"]).output("h100") for x in ((a, b), {"a": a, "b": b})]
    assert outputs[0] == outputs[1]


def test_batches_positions_and_padding_change_bits_only_if_kernels_do():
    torch.manual_seed(0)
    model = torch.nn.Linear(1024, 64).bfloat16()
    x = numbers(4, 6, 1024)
    axes = {"batches": [2, 4], "positions": [0, 3], "padding": [1, 30]}
    assert we.torch.batch_invariance(model, x, ["a100", "h100"], **axes).is_invariant

    def split(shape, matrices, fmt):
        return we.KOrder(splits=8) if shape[0] < 20 else None

    found = we.torch.batch_invariance(model, x, ["h100"], **axes, k_order=split)
    assert {(x.axis, x.value): x.is_equal for x in found.variants} == {
        ("batch", 2): True, ("batch", 4): False, ("position", 0): False, ("position", 3): False,
        ("padding", 1): True, ("padding", 30): False,
    }  # fmt: skip
    assert found.to_dicts()[1]["differing"] > 0 and str(found).startswith("chip  axis")
