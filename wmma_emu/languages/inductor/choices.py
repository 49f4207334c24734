# SPDX-License-Identifier: MIT
"""What Inductor would choose by measured times: the first choice that the chip can hold."""

from collections.abc import Callable, Iterable, Iterator
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

    remembered = pad_mm.get_cached_should_pad

    def padded(key: str) -> bool:
        known = remembered(key)
        if known is None:
            session.note(PADDING)
        return bool(known)

    def no_graph(*_: Any, **__: Any) -> None:
        session.note(GRAPHS)

    with ExitStack() as stack:
        stack.enter_context(replaced(CachingAutotuner, _configurations(session, CachingAutotuner)))
        stack.enter_context(replaced(select_algorithm.AlgorithmSelectorCache, _products(session, select_algorithm)))
        stack.enter_context(replaced(pad_mm, {"get_cached_should_pad": padded}))
        graphs = dict.fromkeys(("cudagraph_post_compile", "cudagraph_partition_post_compile"), no_graph)
        stack.enter_context(replaced(output_code, graphs))
        yield


def _configurations(session: Session, tuner: Any) -> dict[str, Any]:
    """Return the methods of Inductor's tuner of a kernel."""
    from torch._inductor.runtime.triton_heuristics import NoTritonConfigsError

    most = session.arch.shared_kib.value << 10
    return {
        "_precompile_worker": first_configuration(session, tuner._precompile_worker, most, NoTritonConfigsError),
        "_dynamic_scale_rblock": lambda self: None,  # asks for the registers that ptxas gives to a kernel
        "coordinate_descent_tuning": lambda self, launcher, *_, **__: launcher,
        "autotune_to_one_config": _keep_first,
    }


def first_configuration(
    session: Session, compile_all: Callable[[Any], object], most: int, none_compiles: type[Exception]
) -> Callable[[Any], None]:
    """Wrap the method of a tuner that compiles all configurations: it stops at the first that fits.

    Parameters
    ----------
    session : Session
    compile_all : function
    most : int
        The bytes of shared memory that a block can have.
    none_compiles : type
        The error of the method if no configuration compiles.
    """

    def compile_first(self: Any) -> None:
        configurations = list(self.configs or ())
        if self.compile_results or len(configurations) < 2:
            compile_all(self)
            return
        session.note(KERNELS)
        for i, configuration in enumerate(configurations, 1):
            self.configs, self.compile_results = [configuration], []
            try:
                compile_all(self)
            except none_compiles:
                if i == len(configurations):
                    raise
                continue
            if self.compile_results[0].kernel.metadata.shared <= most:
                return

    return compile_first


def _keep_first(tuner: Any, *_: Any, **__: Any) -> None:
    """Keep the first of several compiled configurations, which a cache of Inductor can hold."""
    first = tuner.launchers[0]
    tuner.launchers = [first]
    tuner._prune_compile_results_to_launcher(first)


def _products(session: Session, select_algorithm: Any) -> dict[str, Any]:
    """Return the methods of Inductor's choice among templates and ATen's functions."""

    def first(
        self: Any, name: str, nodes: Any, layout: Any, inputs: Any, key: Any, choices: Any, *_: Any, **__: Any
    ) -> Any:  # fmt: skip
        taken = first_template(choices, lambda x: isinstance(x, select_algorithm.ExternKernelCaller), _compiles)
        if taken is None:
            return {choices[0]: 1.0}
        session.note(PRODUCTS.format(name))
        return {taken: 1.0}

    return {"do_autotuning": first, "make_precompile_fn": lambda self, *_, **__: lambda: None}


def first_template(choices: Iterable[Any], is_aten: Callable[[Any], bool], fits: Callable[[Any], bool]) -> Any:
    """Return the first choice that is not a function of ATen and fits, None if there is none.

    Examples
    --------
    >>> first_template(["mm", "128x128", "32x32"], is_aten=lambda x: x == "mm", fits=lambda x: x == "32x32")
    '32x32'
    """
    return next((x for x in choices if not is_aten(x) and fits(x)), None)


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
