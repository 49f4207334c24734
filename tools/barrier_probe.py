# SPDX-License-Identifier: MIT
"""Record what a GPU does with mbarriers and `elect.sync`: the cases of `barrier_probe_cases`, `elect_probe_cases`.

    python3 -m tools.barrier_probe OUT.npz          # also writes OUT.txt
    python3 -m tools.barrier_probe --write FOLDER   # only writes the PTX, for an assembler; needs no GPU

It needs NumPy and the driver (libcuda.so.1). Each case runs in a separate process, with a time limit, because some
launches end with an error, and some never end; after either, the rest of the case runs in a new process. Every launch
is made twice, over memory with different contents, so that words that it did not write are recognised: they are 0xA5
in every byte of the first launch, and 0x3C in the second.

``OUT.npz`` holds an array (2 launches, lanes, words) of each launch, named case/operations/reading; "log" is OUT.txt.
"""

import argparse
import base64
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools import barrier_probe_cases as barriers
from tools import elect_probe_cases as elections
from tools.cuda_driver import FILLS, CudaError, Device, driver_version

_SECONDS = 15
_ELECT = "elect:"
_RUNNING = "running"
_UNWRITTEN = [int.from_bytes(bytes([fill] * 8), "little") for fill in FILLS]

Answer = tuple[str, NDArray[np.uint64] | str]
"""The name of a launch, and what it wrote, or why it did not end."""


def all_cases() -> list[str]:
    """Return the names of the cases of both files."""
    return [*barriers.cases(), *(_ELECT + x for x in elections.BODIES)]


def module_of(case: str) -> str:
    """Return the PTX of a case."""
    if case.startswith(_ELECT):
        return elections.module_text(case.removeprefix(_ELECT))
    return barriers.module_text(barriers.launches(case))


def names_of(case: str) -> list[str]:
    """Return the names of the launches of a case, in their order."""
    if case.startswith(_ELECT):
        return [case]
    return [f"{case}/{len(x.operations)}/{x.reading}" for x in barriers.launches(case)]


def work(case: str, first: int) -> None:
    """Make the launches of a case, starting at one of them; print each before it begins, and what it wrote."""
    device = Device()
    device.load(module_of(case).encode())
    source = np.arange(4096, dtype=np.uint64)
    for name in names_of(case)[first:]:
        print(json.dumps([_RUNNING, name]), flush=True)
        try:
            if case.startswith(_ELECT):
                masks, kernel = elections.masks(), case.removeprefix(_ELECT)
                both = device.run_twice(kernel, [masks], (len(masks), 32), np.uint64, blocks=len(masks))
            else:
                _, count, reading = name.split("/")
                both = device.run_twice(f"k_{count}_{reading}", [source], (32, barriers.SLOTS), np.uint64)
        except CudaError as error:
            print(json.dumps(["error", name, str(error)]), flush=True)
            os._exit(1)
        print(json.dumps(["wrote", name, base64.b64encode(np.stack(both).tobytes()).decode()]), flush=True)
    os._exit(0)


def answers_of(case: str) -> list[Answer]:
    """Make all launches of a case, in as many processes as it takes."""
    names, answers, first = names_of(case), [], 0
    while first < len(names):
        some = _answers_of_a_process(case, first)
        answers += some
        first += len(some)
        if some and isinstance(some[-1][1], str) and first < len(names):
            first = _next_after_error(names, first)
        if not some:
            answers.append((names[first], "the process ended before it began"))
            break
    return answers


def _next_after_error(names: list[str], first: int) -> int:
    """Return the launch after one that failed: not a longer beginning, if the operations alone end in an error."""
    return len(names) if names[first - 1].endswith("/plain") else first


def _answers_of_a_process(case: str, first: int) -> list[Answer]:
    command = [sys.executable, "-m", "tools.barrier_probe", "--worker", case, "--first", str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            text, problem = process.communicate(timeout=_SECONDS)
            reason = (problem.strip().splitlines() or ["the process ended"])[-1]
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            reason = f"no answer within {_SECONDS} s"
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("[")]
    answers: list[Answer] = []
    for line in lines:
        if line[0] == "wrote":
            words = np.frombuffer(base64.b64decode(line[2]), np.uint64)
            shape = (2, -1, 32) if case.startswith(_ELECT) else (2, 32, barriers.SLOTS)
            answers.append((line[1], words.reshape(shape)))
        elif line[0] == "error":
            answers.append((line[1], line[2]))
    if lines and lines[-1][0] == _RUNNING:
        answers.append((lines[-1][1], reason))
    elif not lines:
        print(f"{case}: {reason}", file=sys.stderr)
    return answers


def described(name: str, answer: NDArray[np.uint64] | str) -> list[str]:
    """Return the lines of a launch in OUT.txt."""
    if name.startswith(_ELECT):
        return [f"{name} {answer}"] if isinstance(answer, str) else [name, *_described_elections(answer)]
    case, count, reading = name.split("/")
    launch = next(
        x for x in barriers.launches(case) if x.reading == reading and len(x.operations) == int(count)
    )  # fmt: skip
    head = f"{name}  {'; '.join(launch.operations)}"
    if isinstance(answer, str):
        return [head, f"    {answer}"]
    lines = [head]
    size = barriers.OPERATION_SLOTS
    for i, operation in enumerate(launch.operations):
        states = [_word(answer, lane, size * i) for lane in range(launch.lanes)]
        over = _word(answer, 0, size * i + 1)
        times = " ".join(f"{int(x)} ns" for x in answer[:, 0, size * i + 2])
        shown = states if launch.lanes > 1 and len(set(states)) > 1 else states[:1]
        lines.append(f"    {operation:34} state {' '.join(shown)}  predicate {over}  {times}")
    start = barriers.SLOTS - barriers.READ_SLOTS
    lines.append(f"    read {' '.join(_word(answer, 0, start + i) for i in range(4))}")
    return lines


def _word(answer: NDArray[np.uint64], lane: int, slot: int) -> str:
    """Write a word of two launches: "-" if neither wrote it, both words if they differ."""
    words = [int(x) for x in answer[:, lane, slot]]
    if words == _UNWRITTEN:
        return "-"
    return f"{words[0]:#x}" if words[0] == words[1] else f"{words[0]:#x}|{words[1]:#x}"


def _described_elections(answer: NDArray[np.uint64]) -> list[str]:
    """Write for each mask which lanes executed the instruction with which result."""
    lines = []
    for k, mask in enumerate(elections.masks().tolist()):
        for run, unwritten in zip(answer[:, k], _UNWRITTEN, strict=True):
            executed = [i for i in range(32) if int(run[i]) != unwritten]
            returned = sorted({int(run[i]) & 0xFFFFFFFF for i in executed})
            elected = [i for i in executed if int(run[i]) >> 32 == 1]
            lines.append(f"    {mask:#010x} executed by {len(executed)}: returns {returned}, true in {elected}")
    return lines


def _kept(name: str, answer: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if name.startswith(_ELECT):
        return answer
    lanes = barriers.launches(name.split("/")[0])[0].lanes
    return answer[:, :lanes]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, help="the file OUT.npz")
    parser.add_argument("--write", type=Path, help="write the PTX of every case to this folder, and stop")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cases", nargs="*", default=all_cases())
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker, given.first)
    if given.write:
        given.write.mkdir(parents=True, exist_ok=True)
        for case in given.cases:
            (given.write / f"{case.replace(':', '_')}.ptx").write_text(module_of(case))
        return
    if given.out is None:
        parser.error("needs OUT.npz or --write FOLDER")
    with ThreadPoolExecutor(given.jobs) as pool:
        answers = [x for some in pool.map(answers_of, given.cases) for x in some]
    lines = [f"driver {driver_version()}", *(line for name, answer in answers for line in described(name, answer))]
    kept = {name: _kept(name, answer) for name, answer in answers if not isinstance(answer, str)}
    np.savez_compressed(given.out, log=np.array(lines), masks=elections.masks(), **kept)  # type: ignore[arg-type]
    given.out.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    print(f"{len(kept)} of {len(answers)} launches ended; {given.out} and {given.out.with_suffix('.txt')}")


if __name__ == "__main__":
    main()
