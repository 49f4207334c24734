# SPDX-License-Identifier: MIT
"""What Inductor would choose by measured times: the first choice that the chip can hold."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from wmma_emu.languages.replacing import replaced
from wmma_emu.languages.session import Session

KERNELS = "Inductor measures no time: of several configurations of a kernel, the first that fits is taken"
PRODUCTS = "Inductor measures no time: of several ways to compute {}, the first Triton template that fits is taken"
PADDING = "Inductor measures no time: operands of matrix products are not padded"
GRAPHS = "CUDA graphs are not recorded: launches run one after another"


@contextmanager
def first_choices(session: Session) -> Iterator[None]:
    """Replace what measures times in Inductor; the report of the session notes each choice."""
    from torch._inductor import output_code, select_algorithm
    from torch._inductor.fx_passes import pad_mm
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    def note(text: str, result: Any) -> Any:
        def made(*_: Any, **__: Any) -> Any:
            session.note(text)
            return result

        return made

    with ExitStack() as stack:
        stack.enter_context(replaced(CachingAutotuner, _configurations(session, CachingAutotuner)))
        stack.enter_context(replaced(select_algorithm.AlgorithmSelectorCache, _products(session, select_algorithm)))
        stack.enter_context(replaced(pad_mm, {"should_pad_bench": note(PADDING, False)}))
        graphs = dict.fromkeys(("cudagraph_post_compile", "cudagraph_partition_post_compile"), note(GRAPHS, None))
        stack.enter_context(replaced(output_code, graphs))
        yield


def _configurations(session: Session, tuner: Any) -> dict[str, Any]:
    """Return the methods of Inductor's tuner of a kernel; only the configuration that is taken is compiled."""
    from torch._inductor.runtime.triton_heuristics import NoTritonConfigsError

    compile_all, most = tuner._precompile_worker, session.arch.shared_kib.value << 10

    def compile_first(self: Any) -> None:
        configurations = list(self.configs or ())
        if self.compile_results or len(configurations) < 2:
            return compile_all(self)
        session.note(KERNELS)
        for i, configuration in enumerate(configurations, 1):
            self.configs, self.compile_results, is_last = [configuration], [], i == len(configurations)
            try:
                compile_all(self)
            except NoTritonConfigsError:
                if is_last:
                    raise
                continue
            if is_last or self.compile_results[0].kernel.metadata.shared <= most:
                return None
        return None

    return {
        "_precompile_worker": compile_first,
        "_dynamic_scale_rblock": lambda self: None,  # asks for the registers that ptxas gives to a kernel
        "coordinate_descent_tuning": lambda self, launcher, *_, **__: launcher,
        "autotune_to_one_config": _keep_first,
    }


def _keep_first(tuner: Any, *_: Any, **__: Any) -> None:
    """Keep the first of several compiled configurations, which a cache of Inductor can hold."""
    first = tuner.launchers[0]
    tuner.launchers = [first]
    tuner._prune_compile_results_to_launcher(first)


def _products(session: Session, select_algorithm: Any) -> dict[str, Any]:
    """Return the methods of Inductor's choice among templates and ATen's functions."""

    def first(self: Any, name: str, nodes: Any, layout: Any, made: Any, key: Any, choices: Any, *_: Any, **__: Any) -> Any:
        for choice in choices:
            if not isinstance(choice, select_algorithm.ExternKernelCaller) and _compiles(choice):
                session.note(PRODUCTS.format(name))
                return {choice: 1.0}
        return {choices[0]: 1.0}

    return {"do_autotuning": first, "make_precompile_fn": lambda self, *_, **__: lambda: None}


def _compiles(choice: Any) -> bool:
    """Return whether a template compiles, and the chip can hold its shared memory."""
    from torch._inductor.runtime.triton_heuristics import NoTritonConfigsError
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources

    try:
        choice.precompile()
    except (NoTritonConfigsError, CompilationError, OutOfResources):
        return False
    return True
