"""The same assertions on the GPU at hand: fresh registers, run on it and through the emulator, bit for bit.

`python -m pytest -m gpu`; needs a driver and nvcc. Chips without a row in the table are skipped.
"""

import numpy as np
import pytest

import wmma_emu as we
from tools.cuda_driver import CudaError, Device, compile_cubins, target_of
from tools.record_registers import FAMILIES, record, sources
from tools.recording_inputs import families_of
from tools.recordings import all_inputs
from wmma_emu.instructions import arch_of, instructions_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning"),
]

SEED = 20261121


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    """The chip, and D of every instruction that it accepts."""
    try:
        device = Device()
    except (OSError, CudaError) as error:
        pytest.skip(f"no GPU: {error}")
    try:
        arch = arch_of(f"sm_{device.capability}")
    except we.UnsupportedInstructionError as error:
        pytest.skip(str(error))
    rows = list(instructions_of(arch))
    target = target_of(device.capability)
    for cubin in compile_cubins(sources(rows, target), tmp_path_factory.mktemp("cubins"), target):
        device.load(cubin)
    yield arch, record(rows, FAMILIES, SEED, 1, device.run)
    device.close()


@pytest.mark.parametrize("mnemonic", we.INSTRUCTIONS)
def test_registers_equal_those_that_this_gpu_returns(mnemonic, gpu):
    arch, recorded = gpu
    if mnemonic not in recorded:
        pytest.skip(f"{arch} has no {mnemonic}")
    ins = we.instruction(mnemonic, arch=arch)
    families = tuple(x for x in FAMILIES if x in families_of(ins.instruction))
    a, b, c = all_inputs(mnemonic, families, SEED, 1)
    np.testing.assert_array_equal(ins.execute(a, b, c), recorded[mnemonic])
