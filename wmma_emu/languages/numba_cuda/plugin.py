# SPDX-License-Identifier: MIT
"""The patches in numba-cuda while the emulation is on; all else is numba-cuda's own code.

- its driver: `DriverCalls` has the functions of the CUDA driver;
- ``cuda.core``'s Device, Stream, Program and LaunchConfig, and ``launch``, which need a driver;
- ``get_cufunc`` of its code libraries, which links PTX instead of machine code;
- ``to_device`` of the hints ``In``, ``Out`` and ``InOut``, which copy arrays with ``cuda.core``;
- ``launch`` of its kernels, only to know the names of the parameters;
- ``compile_cuda``, which adds line numbers, so that findings name lines of Python; they change no instruction;
- ``llvm_strs`` of its code libraries, without the lines where they cannot be linked.
"""

import gc
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from wmma_emu.errors import WmmaEmuError
from wmma_emu.languages.device_properties import properties_of
from wmma_emu.languages.numba_cuda.arguments import Part, bytes_of, named_memory, parts_of
from wmma_emu.languages.numba_cuda.driver_calls import DriverCalls
from wmma_emu.languages.numba_cuda.host_arrays import argument_hints
from wmma_emu.languages.numba_cuda.kernels import Code, EmulatedKernel, linked_module
from wmma_emu.languages.numba_cuda.memory import DeviceMemory
from wmma_emu.languages.numba_cuda.programs import program_class
from wmma_emu.languages.session import Session
from wmma_emu.ptx import Module

NAME = "numba-cuda"

_VERSION, _OTHER = '!"Debug Info Version"', '!"Lines Version"'
"""A flag of modules of LLVM IR, and one without a meaning."""


def install(session: Session) -> Callable[[], None]:
    """Make kernels of numba-cuda run on the emulator, and return the function that undoes it.

    Without numba-cuda, ``numba.cuda`` is the older package that numba itself contains: its kernels are not emulated.
    """
    if find_spec("numba_cuda") is None:
        return _note_launches_of_numba(session)
    from numba.cuda.core import config

    if config.ENABLE_CUDASIM:
        session.note("NUMBA_ENABLE_CUDASIM is set: kernels of numba-cuda run on its own simulator, not on the emulator")
        return lambda: None
    return _Installed(session).undo


def _note_launches_of_numba(session: Session) -> Callable[[], None]:
    from numba.cuda import dispatcher

    configure = dispatcher.CUDADispatcher.__getitem__

    def noted(kernel: Any, configuration: Any) -> Any:
        session.note("numba.cuda is numba's own, whose kernels are not emulated: install numba-cuda")
        return configure(kernel, configuration)

    with ExitStack() as stack:
        stack.enter_context(patch.object(dispatcher.CUDADispatcher, "__getitem__", noted))
        return stack.pop_all().close


class _Installed:
    """numba-cuda with the patches of a session."""

    def __init__(self, session: Session) -> None:
        from numba.cuda import args, codegen, dispatcher
        from numba.cuda.cudadrv import devices, driver, nvrtc
        from numba.cuda.memory_management import nrt

        self._session, self._devices, self._driver = session, devices, driver
        self._memory = DeviceMemory()
        self._calls = DriverCalls(session.arch, self._memory, driver.binding, driver.CudaAPIError)
        self._functions: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._names = threading.local()
        before = dispatcher._Kernel.launch
        unknown_lines = dispatcher.errors.NumbaDebugInfoWarning
        into, out = argument_hints(self._memory, _is_on_device, partial(_device_view, driver))
        with ExitStack() as stack:
            for owner, name, value in (
                (driver, "ExperimentalDevice", self._device),
                (driver, "ExperimentalStream", Stream),
                (nvrtc, "Program", program_class(nvrtc.Program, driver.ObjectCode, nvrtc.bindings_nvrtc)),
                (devices._runtime, "_tls", threading.local()),
                (driver._ActiveContext, "_tls_cache", threading.local()),
                (codegen.CUDACodeLibrary, "get_cufunc", lambda library: self._cufunc(library)),
                (codegen.CUDACodeLibrary, "llvm_strs", _without_lines(codegen.CUDACodeLibrary.llvm_strs)),
                (dispatcher._Kernel, "launch", lambda kernel, *a, **k: self._named(before, kernel, *a, **k)),
                (dispatcher, "compile_cuda", _with_lines(dispatcher.compile_cuda, unknown_lines)),
                (args.In, "to_device", into),
                (args.Out, "to_device", out),
                *((x, name, y) for x in (dispatcher, nrt) for name, y in (
                    ("launch", self._launch), ("LaunchConfig", SimpleNamespace))),
            ):  # fmt: skip
                stack.enter_context(patch.object(owner, name, value))
            stack.callback(self._use_driver())
            self._undo = stack.pop_all()

    def undo(self) -> None:
        """Release the emulated device's memory and modules, and undo the patches."""
        self._devices.reset()
        self._functions.clear()
        gc.collect()  # what numba-cuda keeps in circles is freed by the driver that made it
        self._undo.close()
        self._memory.clear()

    def _use_driver(self) -> Callable[[], None]:
        """Make the one object that is numba-cuda's driver answer for the emulated device."""
        one, kind = self._driver.driver, self._driver.Driver
        state, lists = dict(one.__dict__), type(self._devices.gpus).lst.fget
        emulated = type("EmulatedDriver", (_Answers, kind), {"_calls": self._calls})

        def become(cls: type, attributes: dict[str, Any]) -> None:
            one.__dict__.clear()
            one.__dict__.update(attributes)
            one.__class__ = cls
            lists.cache_clear()

        none = {"is_initialized": False, "initialization_error": None, "pid": os.getpid(), "lib": None}
        become(emulated, {"devices": type(state["devices"])(), **none})
        return partial(become, kind, state)

    def _device(self, number: int = 0) -> SimpleNamespace:
        properties = properties_of(self._session.arch)
        return SimpleNamespace(
            device_id=number, compute_capability=properties.capability, name=properties.name,
            uuid=f"00000000-0000-0000-0000-{number:012}", context=SimpleNamespace(handle=self._calls.context),
            set_current=lambda: None,
        )  # fmt: skip

    def _cufunc(self, library: Any) -> Any:
        """Link the code of a library for the emulated chip, once, and return the function that numba-cuda launches."""
        context = self._devices.get_context()
        code, function = self._functions.get(library, (None, None))
        if code is None or code.handle not in context.modules:
            make = partial(Module, arch=self._session.arch, **self._session.module_options)
            linked = linked_module(library, self._driver._Linker, library._ensure_cc(None), make, self._session.note)
            code = Code(linked, self._memory, self._calls.load)
            module = context.create_module_image(code, library._setup_functions, library._teardown_functions)
            function = module.get_function(library._entry_name)
            self._functions[library] = code, function
        return function

    def _named(self, launch: Callable[..., Any], kernel: Any, *arguments: Any, **keywords: Any) -> Any:
        self._names.kernel = kernel
        try:
            return launch(kernel, *arguments, **keywords)
        finally:
            self._names.kernel = None

    def _launch(self, stream: Any, config: Any, kernel: EmulatedKernel, *values: Any) -> None:
        """Launch a kernel, as `cuda.core.launch` does."""
        run, parameters = kernel.kernel, kernel.kernel.parameters
        plain = [_plain(x) for x in values]
        packed = [bytes_of(x, y.bytes) for x, y in zip(plain, parameters, strict=True)]
        cooperative = getattr(config, "is_cooperative", getattr(config, "cooperative_launch", False))
        try:
            report = run[config.grid, config.block, config.shmem_size or 0](
                *packed, addresses="host", reachable=named_memory(self._memory, plain, self._parts(len(plain))),
                cooperative=bool(cooperative) or None,
            )  # fmt: skip
        except WmmaEmuError as error:
            self._session.refused(NAME, run.called, error)
            raise
        self._session.launched(NAME, run.called, report)

    def _parts(self, number: int) -> list[Part]:
        from numba.cuda import types
        from numba.cuda.np.numpy_support import as_dtype

        kernel = getattr(self._names, "kernel", None)
        function = getattr(kernel, "py_func", None)
        if kernel is not None and function is not None:
            code = function.__code__
            found = parts_of(code.co_varnames[: code.co_argcount], kernel.argument_types, types, as_dtype)
            if len(found) == number:
                return found
        return [Part(f"argument {i}") for i in range(number)]


class _Answers:
    """The driver of numba-cuda, with the functions of the emulated device; it checks no codes, which are exceptions."""

    _calls: DriverCalls

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(f"the driver has no attribute {name}")
        self.ensure_initialized()
        try:
            return getattr(self._calls, name)
        except AttributeError:
            raise NotImplementedError(f"{name} of the CUDA driver is not emulated") from None


class Stream:
    """A stream, as in ``cuda.core``."""

    def __init__(self, handle: Any) -> None:
        self.handle = int(handle)

    @staticmethod
    def from_handle(handle: Any) -> "Stream":
        """Make a stream of a handle."""
        return Stream(handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def _with_lines(compile_cuda: Callable[..., Any], unknown_lines: type[Warning]) -> Callable[..., Any]:
    """Return the function with line numbers by default, and without the warning that a function has none."""

    def compile_with_lines(*arguments: Any, debug: bool = False, lineinfo: bool = False, **keywords: Any) -> Any:
        if debug or lineinfo:
            return compile_cuda(*arguments, debug=debug, lineinfo=lineinfo, **keywords)
        with warnings.catch_warnings(), suppress(ZeroDivisionError, AttributeError, KeyError):
            # These errors are of numba-cuda's debug information, which does not know all types.
            warnings.simplefilter("ignore", unknown_lines)
            return compile_cuda(*arguments, lineinfo=True, **keywords)
        return compile_cuda(*arguments, **keywords)

    return compile_with_lines


def _without_lines(texts: property) -> property:
    """Return the property of a library's LLVM IR, without lines if code of NVRTC is linked.

    nvJitLink refuses to link the two. LLVM drops debug information whose version it does not find.
    """

    def found(library: Any) -> list[str]:
        given: list[str] = texts.__get__(library)
        return [x.replace(_VERSION, _OTHER) for x in given] if library._linking_files else given

    return property(found)


def _plain(value: Any) -> Any:
    """Return a pointer of the binding as a number."""
    return int(value) if type(value).__name__ == "CUdeviceptr" else value


def _is_on_device(value: Any) -> bool:
    return bool(getattr(value, "__cuda_memory__", False)) or hasattr(value, "__cuda_array_interface__")


def _device_view(driver: Any, value: Any, stream: Any) -> Any:
    from numba.cuda.api import from_cuda_array_interface

    if not driver.is_device_memory(value):
        value = from_cuda_array_interface(value.__cuda_array_interface__, owner=value)
    return value._strided_memory_view_shim
