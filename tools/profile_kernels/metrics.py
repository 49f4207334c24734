# SPDX-License-Identifier: MIT
"""The counters of Nsight Compute that are compared, and the counter of a profile that each corresponds to."""

from collections.abc import Callable
from typing import NamedTuple

from wmma_emu.ptx import KernelProfile
from wmma_emu.ptx.profile import ProfiledInstruction

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}"
_WAVEFRONTS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}"
_CONFLICTS_OF = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{}"
_EXECUTED = "sm__sass_inst_executed_op_{}"


class Metric(NamedTuple):
    """A metric of Nsight Compute (its sum), and what the profile counts instead."""

    name: str
    of_profile: Callable[[KernelProfile], int]


def _is(*opcodes: str) -> Callable[[ProfiledInstruction], bool]:
    return lambda x: x.opcode.split(".")[0] in opcodes or x.opcode.startswith(tuple(y for y in opcodes if "." in y))


def _sum(which: Callable[[ProfiledInstruction], bool], counter: str) -> Callable[[KernelProfile], int]:
    return lambda profile: sum(getattr(x, counter) for x in profile.instructions if which(x))


_LOADS, _STORES = _is("ld", "ldu", "wmma.load"), _is("st", "wmma.store")
_ATOM, _RED = _is("atom"), _is("red")
_COPIES, _LDMATRIX, _STMATRIX = _is("cp"), _is("ldmatrix"), _is("stmatrix")


def _shared_atomics(counter: str) -> Callable[[KernelProfile], int]:
    return lambda profile: _sum(_ATOM, counter)(profile) + _sum(_RED, counter)(profile)


def _metrics() -> list[Metric]:
    found = []
    for space, counters in (("global", ("global_requests", "global_sectors")),
                            ("local", ("local_requests", "local_sectors"))):  # fmt: skip
        for what, counter in zip(("requests", "sectors"), counters, strict=True):
            for op, which in (("ld", _LOADS), ("st", _STORES)):
                found.append(Metric(_GLOBAL.format(what, space, op), _sum(which, counter)))
    for what in ("requests", "sectors"):
        for op, which in (("atom", _ATOM), ("red", _RED)):
            found.append(Metric(_GLOBAL.format(what, "global", op), _sum(which, f"global_{what}")))
        name = f"sm__sass_l1tex_t_{what}_pipe_lsu_mem_global_op_ldgsts"
        found.append(Metric(name, _sum(_COPIES, f"global_{what}")))
    for op, which in (("ldsm", _LDMATRIX), ("stsm", _STMATRIX), ("ldgsts", _COPIES)):
        found.append(Metric(_WAVEFRONTS.format(op), _sum(which, "shared_wavefronts")))
        found.append(Metric(_CONFLICTS_OF.format(op), _sum(which, "bank_conflicts")))
    for op, which in (("ld", _LOADS), ("st", _STORES)):
        found.append(Metric(_WAVEFRONTS.format(op), _sum(which, "shared_wavefronts")))
        found.append(Metric(_CONFLICTS.format(op), _sum(which, "bank_conflicts")))
        found.append(Metric(_EXECUTED.format(f"shared_{op}"), _sum(which, "shared_requests")))
    found.append(Metric(_WAVEFRONTS.format("atom"), _shared_atomics("shared_wavefronts")))
    found.append(Metric(_CONFLICTS.format("atom"), _shared_atomics("bank_conflicts")))
    found.append(Metric(_EXECUTED.format("shared_atom"), _shared_atomics("shared_requests")))
    return found


METRICS = _metrics()
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
