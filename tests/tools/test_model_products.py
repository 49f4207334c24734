# SPDX-License-Identifier: MIT
"""The tool that looks for the arithmetic of PyTorch's products in whole models."""

import json
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wmma_emu as we  # noqa: E402
from tools.model_products.__main__ import main  # noqa: E402
from tools.model_products.capture import CaptureMode  # noqa: E402
from tools.model_products.explain import explained  # noqa: E402
from tools.model_products.tasks import tasks_of  # noqa: E402

SPLIT = we.KOrder(tile=64, splits=3)


def drawn(*shape):
    return torch.from_numpy(np.random.default_rng(1).standard_normal(shape, np.float32)).bfloat16()


def captured(emulation, run):
    """Capture products whose results an emulated chip computes."""
    mode = CaptureMode()
    with mode, torch.no_grad():
        run()
    (product,) = mode.products.values()
    with emulation, torch.no_grad():
        product.results = product.again()
    return product


@pytest.mark.parametrize("bias", [False, True], ids=["mm", "addmm"])
def test_the_ranges_of_k_of_a_product_are_found(bias):
    a, b = drawn(128, 1024), drawn(96, 1024).t()
    emulation = we.torch.emulate("h100", k_order=SPLIT)
    run = (lambda: torch.addmm(drawn(96), a, b)) if bias else (lambda: torch.mm(a, b))
    (task,) = tasks_of(captured(emulation, run))
    found = explained(task, time.monotonic())
    assert (found.differ, found.candidate.order, found.candidate.form) == (0, SPLIT, "before rounding")
    assert found.plain_differ > 0


def test_the_order_of_k_in_a_convolution_is_found():
    x, weight = drawn(2, 48, 24, 24), drawn(64, 48, 3, 3)
    emulation = we.torch.emulate("h100", convolution_order="crs")
    (task,) = tasks_of(captured(emulation, lambda: torch.nn.functional.conv2d(x, weight, None, 1, 1)))
    found = explained(task, time.monotonic())
    assert (found.differ, found.candidate.layout, found.candidate.changed) == (0, "filter positions last", {})


def test_both_gradients_of_a_convolution_are_compared():
    x, weight, grad = drawn(2, 16, 8, 8), drawn(8, 16, 3, 3), drawn(2, 8, 8, 8)
    arguments = (grad, x, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    backward = torch.ops.aten.convolution_backward
    product = captured(we.torch.emulate("h100"), lambda: backward(*arguments))
    tasks = list(tasks_of(product))
    assert [task.part for task in tasks] == ["input", "weight"]
    assert [explained(task, time.monotonic()).differ for task in tasks] == [0, 0]


def test_a_recording_has_every_product_of_a_network_and_prints_shares(tmp_path, capsys):
    file = tmp_path / "products.json"
    main(["record", "--out", str(file), "--size", "small", "--device", "cpu", "--seconds", "0",
          "--only", "llama, bfloat16, forward"])  # fmt: skip
    recording = json.loads(file.read_text())
    forward = [row for row in recording["products"] if "llama, bfloat16, forward" in row["occurrences"]]
    assert sum(row["occurrences"]["llama, bfloat16, forward"] for row in forward) == 6
    capsys.readouterr()
    main(["table", str(file)])
    assert "| llama, bfloat16, forward | 6 |" in capsys.readouterr().out
