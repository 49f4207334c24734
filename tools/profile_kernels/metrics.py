# SPDX-License-Identifier: MIT
"""The counters of Nsight Compute that are compared, and the counter of a profile that each corresponds to."""

import re
from collections.abc import Callable
from typing import NamedTuple

import wmma_emu as we
from wmma_emu.ptx import KernelProfile
from wmma_emu.ptx.profile import ProfiledInstruction

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}"
_WAVEFRONTS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}"
_CONFLICTS_OF = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{}"
_EXECUTED = "sm__sass_inst_executed_op_{}"
_TENSOR = "sm__inst_executed_pipe_tensor_op_{}"

_Of = Callable[[ProfiledInstruction], bool]


class Metric(NamedTuple):
    """Metrics of Nsight Compute, whose sums are added, and the function of a profile that returns the same.

    A kernel for which the function returns None is not compared.
    ``parts`` are the parts of the launches in which they are compared; all if there are none.
    """

    names: tuple[str, ...]
    of_profile: Callable[[KernelProfile], int | None]
    parts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The names as one text."""
        return " + ".join(self.names)


def _is(*mnemonics: str) -> _Of:
    return lambda x: x.opcode.split(".")[0] in mnemonics


def _is_matrix_load(x: ProfiledInstruction) -> bool:
    """Return whether ptxas makes ldmatrix of a wmma.load."""
    return bool(re.match(r"wmma\.load\.[ab]\..*\.shared\.b?f16$", x.opcode))


def _loads(x: ProfiledInstruction) -> bool:
    return _is("ld", "ldu")(x) or (x.opcode.startswith("wmma.load") and not _is_matrix_load(x))


def _ldmatrix(x: ProfiledInstruction) -> bool:
    return _is("ldmatrix")(x) or _is_matrix_load(x)


def _stores(x: ProfiledInstruction) -> bool:
    return _is("st")(x) or x.opcode.startswith("wmma.store")


_COPIES, _STMATRIX, _ATOMICS = _is("cp"), _is("stmatrix"), _is("atom", "red")


def _sum(counter: str, *which: _Of) -> Callable[[KernelProfile], int]:
    return lambda profile: sum(getattr(x, counter) for x in profile.instructions if any(y(x) for y in which))


def _apart(counter: str, *which: _Of) -> Callable[[KernelProfile], int | None]:
    """Return the sum of a counter; None where loads and atomic operations in loops have one counter."""
    return lambda profile: None if _has_loops(profile) else _sum(counter, *which)(profile)


def _together(counter: str) -> Callable[[KernelProfile], int | None]:
    """Return the sum of a counter of loads and atomic operations; None without such loops."""
    return lambda profile: _sum(counter, _loads, _ATOMICS)(profile) if _has_loops(profile) else None


def _has_loops(profile: KernelProfile) -> bool:
    """Return whether ptxas makes loops of some atomic operations on shared memory."""
    return any(_ATOMICS(x) and x.shared_requests > x.executions for x in profile.instructions)


def _loaded_sectors(profile: KernelProfile) -> int | None:
    """Return the sectors of loads; None with copies past the L1 cache, which the metric counts in another way."""
    if any(x.opcode.startswith("cp.async.cg") and x.executions for x in profile.instructions):
        return None
    return _sum("global_sectors", _loads, _COPIES)(profile)


def _machine_instructions(profile: KernelProfile) -> int | None:
    """Return the machine instructions of the matrix instructions of a kernel.

    None without matrix instructions: moves of constants run on the tensor pipe too.
    """
    if not profile.total.matrix_instructions:
        return None
    return sum(x.executions * _times(x.opcode) for x in profile.instructions if x.matrix_instructions)


def _times(opcode: str) -> int:
    """Return the number of machine instructions of a matrix instruction."""
    machine = we.instruction(opcode.replace("::ordered_metadata", ""), arch="h200").machine
    return sum(int(x) for x in re.findall(r"(?:^|\s)(\d+)x\s", machine)) or 1


def _of_global() -> list[Metric]:
    found = []
    for what in ("requests", "sectors"):
        counter, name = f"global_{what}", f"l1tex__t_{what}_pipe_lsu_mem_global_op_"
        loads = _sum(counter, _loads, _COPIES) if what == "requests" else _loaded_sectors
        found += [
            Metric((f"{name}ld",), loads),
            Metric((f"{name}st",), _sum(counter, _stores)),
            Metric((f"{name}atom", f"{name}red"), _sum(counter, _ATOMICS)),
            Metric((f"sm__sass_l1tex_t_{what}_pipe_lsu_mem_global_op_ldgsts",), _sum(counter, _COPIES)),
            Metric((_GLOBAL.format(what, "local", "ld"),), _sum(f"local_{what}", _loads)),
            Metric((_GLOBAL.format(what, "local", "st"),), _sum(f"local_{what}", _stores)),
        ]
    return found


def _of_shared() -> list[Metric]:
    wavefronts, conflicts, requests = "shared_wavefronts", "bank_conflicts", "shared_requests"
    found = [
        Metric((_WAVEFRONTS.format(op),), _sum(wavefronts, which))
        for op, which in (("st", _stores), ("ldsm", _ldmatrix), ("stsm", _STMATRIX), ("ldgsts", _COPIES))
    ]
    found += [
        Metric((_CONFLICTS_OF.format(op),), _sum(conflicts, which))
        for op, which in (("ldsm", _ldmatrix), ("stsm", _STMATRIX), ("ldgsts", _COPIES))
    ]
    for name, counter, more in (
        (_WAVEFRONTS, wavefronts, ()), (_CONFLICTS, conflicts, (_ldmatrix,)),
        (_EXECUTED.format("shared_{}"), requests, ()),
    ):  # fmt: skip
        load, atomic = name.format("ld"), name.format("atom")
        found += [
            Metric((load,), _apart(counter, _loads, *more)), Metric((atomic,), _apart(counter, _ATOMICS)),
            Metric((load, atomic), _together(counter)),
        ]  # fmt: skip
    found += [
        Metric((_CONFLICTS.format("st"),), _sum(conflicts, _stores, _STMATRIX)),
        Metric((_EXECUTED.format("shared_st"),), _sum(requests, _stores)),
    ]
    return found


def _of_execution() -> list[Metric]:
    branches = ("branches",)
    tensor = tuple(_TENSOR.format(x) for x in ("hmma", "imma", "dmma"))
    return [
        Metric(("sm__sass_branch_targets",), _sum("branches", _is("bra")), branches),
        Metric(("sm__sass_branch_targets_threads_divergent",), _sum("divergent_branches", _is("bra")), branches),
        Metric(tensor, _machine_instructions, ("ladder", "examples", "others")),
    ]


def _of_bulk() -> list[Metric]:
    """Return the metrics of wgmma and of bulk copies; others use what they count too."""
    products, copies = ("products",), ("bulk_copies",)
    gmma, moved = _is("wgmma"), "l1tex__m_{}_bytes_{}"
    return [
        Metric(("sm__sass_inst_executed_op_shared_gmma",), _sum("shared_requests", gmma), products),
        Metric(("sm__sass_data_bytes_mem_shared_op_gmma",), _sum("shared_bytes", gmma), products),
        Metric((_WAVEFRONTS.format("gmma"),), _sum("shared_wavefronts", gmma), products),
        Metric((_CONFLICTS.format("gmma"),), _sum("bank_conflicts", gmma), products),
        Metric(("sm__sass_inst_executed_op_tma",), _sum("bulk_copies", _COPIES), copies),
        Metric(
            (moved.format("xbar2l1tex_read", "mem_global_op_tma_ld"), moved.format("l1tex2xbar_write", "pipe_tma")),
            _sum("bulk_bytes", _COPIES), copies,
        ),
    ]  # fmt: skip


METRICS = [*_of_global(), *_of_shared(), *_of_execution(), *_of_bulk()]
"""The compared metrics."""

OTHERS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_misc", "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld",
    "sm__sass_inst_executed_op_ldsm", "sm__sass_inst_executed_op_shared_stsm", "sm__sass_inst_executed_op_ldgsts",
    "sm__sass_inst_executed_op_global_ld", "sm__sass_inst_executed_op_global_st",
    "sm__sass_inst_executed_op_global_atom", "sm__sass_inst_executed_op_global_red",
    "sm__sass_inst_executed_op_branch", "sm__sass_branch_targets",
    "sm__sass_branch_targets_threads_divergent", "sm__sass_branch_targets_threads_uniform", "smsp__inst_executed",
    "sm__sass_thread_inst_executed", "sm__sass_thread_inst_executed_pred_on", "sm__inst_executed_pipe_tensor",
    "sm__inst_executed_pipe_tensor_op_hmma", "sm__inst_executed_pipe_tensor_op_imma",
    "sm__inst_executed_pipe_tensor_op_gmma", "sm__inst_executed_pipe_tensor_op_dmma",
    "sm__sass_data_bytes_mem_global_op_ld", "sm__sass_data_bytes_mem_global_op_st",
    "sm__sass_data_bytes_mem_shared_op_ld", "sm__sass_data_bytes_mem_shared_op_st",
    "sm__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on",
)  # fmt: skip
"""Metrics that are recorded too, and explain a difference."""
