# SPDX-License-Identifier: MIT
"""What the steps of an aligned sum do: the parameters of a `DotModel`, one question after another."""

from typing import NamedTuple

from wmma_emu.applications.probing.alignment import (
    RoundingStep,
    find_fraction_bits,
    find_normalisation,
    find_truncation,
    find_zero_products,
)
from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import with_parameters
from wmma_emu.applications.probing.probe_log import ProbeLog
from wmma_emu.applications.probing.rounding import (
    ROUNDINGS,
    floor_cases,
    highest_hidden_floor,
    operand_cases,
    rounding_cases,
)
from wmma_emu.arithmetic import DotProduct
from wmma_emu.formats import FORMATS, format_of

_NO_FLOOR = 200
"""So far below the accumulator's smallest normal exponent a floor shows nowhere."""

_LOWEST_FLOOR = -(1 << 14)


class _Sums(NamedTuple):
    """What steps could round to, and how."""

    accumulator: str
    output: str
    rounding: str

    def __str__(self) -> str:
        return f"{self.rounding} to {self.output or self.accumulator}"


def find_steps(log: ProbeLog, product: DotProduct) -> DotProduct:
    """Aligned sums: the bits kept, then how sums are rounded, the floor, the conversion of operands."""
    device, step = log.device, RoundingStep.first(product)
    if not step.arrangements():
        text = "a step has fewer than three terms"
        log.answer("fraction bits", "steps too small to see", (), text)
        return product
    answer, values = find_fraction_bits(device, step)
    log.answers.append(answer)
    fraction_bits = values[0]
    log.leave_open("fraction_bits", values)
    for find in (find_truncation, find_normalisation, find_zero_products):
        log.answers.append(find(device, step, fraction_bits))
    product = with_parameters(product, fraction_bits=fraction_bits)
    last = RoundingStep.last(product)
    product = _find_rounding(log, product, rounding_cases(device, last, fraction_bits))
    product = _find_operand_format(log, product, operand_cases(device, last, fraction_bits))
    return _find_floor(log, product, floor_cases(device, last, fraction_bits))


def _find_rounding(log: ProbeLog, product: DotProduct, cases: list[Query]) -> DotProduct:
    """Format and rounding of the steps' results: everything that a unit could do, on the same sums."""
    candidates = {}
    for accumulator, output in _sums_of(log.device):
        for rounding in ROUNDINGS:
            floor = format_of(accumulator).emin - _NO_FLOOR
            parameters = {"accumulator": accumulator, "output": output, "rounding": rounding}
            candidates[_Sums(accumulator, output, rounding)] = with_parameters(
                product, min_exponent=floor, **parameters
            )
    survivors = log.seen.survivors(cases, candidates)
    modelled = [value for value in survivors.values if value[2] in ("RZ", "RNE")]
    # Sums that few terms make do not show everything; the families have others.
    chosen = min(modelled or survivors.values, key=lambda value: log.seen.wrong(candidates[value]))
    accumulator, output, rounding = chosen
    text = str(chosen)
    if accumulator != log.device.d.name:
        text += f", converted to {log.device.d} at the end"
    problem = survivors.problem if modelled else survivors.problem or f"steps round {rounding}"
    log.eliminated("rounding of steps", text, survivors, cases, candidates, problem, chosen)
    for i, name in enumerate(("accumulator", "output", "rounding")):
        rest = [x for j, x in enumerate(chosen) if j != i]
        log.leave_open(name, [v[i] for v in modelled if [x for j, x in enumerate(v) if j != i] == rest])
    return candidates[chosen]


def _find_operand_format(log: ProbeLog, product: DotProduct, cases: list[Query]) -> DotProduct:
    """Whether operands are converted, which shows in the exponents of subnormal ones."""
    names = {f"first converted to {x}" if x else "as they are": x for x in _conversions(log.device)}
    candidates = {text: with_parameters(product, operand_format=x) for text, x in names.items()}
    survivors = log.seen.survivors(cases, candidates)
    # Few of these cases can be asked of narrow formats; the families have others.
    chosen = min(survivors.values, key=lambda x: log.seen.wrong(candidates[x]))
    log.eliminated("operands", chosen, survivors, cases, candidates, survivors.problem, chosen)
    log.leave_open("operand_format", [names[x] for x in survivors.values])
    return candidates[chosen]


def _find_floor(log: ProbeLog, product: DotProduct, cases: list[Query]) -> DotProduct:
    """The exponent below which the alignment does not fall: the highest that explains everything."""
    emin = product.model.accumulator_format.emin
    exponents = range(emin - 64, emin + 33)
    candidates = {e: with_parameters(product, min_exponent=e) for e in exponents}
    survivors = log.seen.survivors(cases, candidates)
    values = survivors.values
    # A floor that cuts nothing cuts nothing if it is lower.
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (low, middle - 1) if log.seen.wrong(candidates[values[middle]]) else (middle, high)
    highest = values[low]
    is_open = values[0] == exponents[0]
    text = f"2**{highest}" + (" or lower" if is_open else "")
    problem = survivors.problem
    if not problem and (is_open or low) and highest > highest_hidden_floor(candidates[highest]):
        lowest = "" if is_open else f"from {values[0]} "
        problem = f"no case that was asked tells floors {lowest}up to {highest} apart, and there are inputs that do"
    log.eliminated("floor of the alignment", text, survivors, cases, candidates, problem, highest)
    if is_open or low:
        log.leave_open("min_exponent", range(_LOWEST_FLOOR if is_open else values[0], highest + 1))
    return candidates[highest]


def _sums_of(device: DeviceUnderTest) -> list[tuple[str, str]]:
    """Accumulators and outputs that steps can have: (accumulator, output)."""
    wide = [("f32", ""), ("f32", "e8m13")]
    if device.d.name == "f16":
        return ([("f16", "")] if device.c.name == "f16" else []) + wide
    return wide if device.d.name == "f32" else [(device.d.name, "")]


def _conversions(device: DeviceUnderTest) -> list[str]:
    """Formats that operands can be converted to exactly, no conversion first, then narrow ones."""

    def holds(outer: str) -> bool:
        fmt = FORMATS[outer]
        return all(
            fmt.emin - fmt.fraction_bits <= x.emin - x.fraction_bits
            and fmt.emax >= x.emax
            and fmt.fraction_bits >= x.fraction_bits
            and fmt != x
            for x in (device.a, device.b)
        )

    return ["", *(name for name in ("f16", "bf16", "tf32") if holds(name))]
