# SPDX-License-Identifier: MIT
"""What `import wmma_emu` may load, and that names which are imported on first use are the right ones."""

import ast
import inspect
import json
import pickle
import re
import subprocess
import sys
import typing
from importlib import import_module
from pathlib import Path

import pytest

import wmma_emu as we
from tests.optional_libraries import lacks_its_library
from wmma_emu.first_use import on_first_use

ROOT = Path(we.__file__).parent

ALLOWED = {"numpy", "ml_dtypes", "threadpoolctl", "cython_runtime"}
"""The modules that the package may load before an extra is used: its dependencies, the modules that they load, and, if
installed, threadpoolctl, which limits the threads of NumPy's BLAS."""


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded for a line of code, beyond those that it starts with."""
    code = f"import sys, json; before = set(sys.modules); {code}; print(json.dumps([*set(sys.modules) - before]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def foreign(modules: set[str]) -> set[str]:
    """Packages among modules that are neither the standard library's nor this project's."""
    roots = {x.partition(".")[0] for x in modules} - set(sys.stdlib_module_names) - {"wmma_emu"}
    return {x for x in roots if not x.startswith("_")}  # such as multiprocessing's, or Cython's runtime


def test_the_import_loads_two_modules_of_the_package_and_no_others():
    loaded = loaded_by("import wmma_emu")
    assert {x for x in loaded if x.startswith("wmma_emu")} == {"wmma_emu", "wmma_emu.first_use", "wmma_emu.version"}
    assert not foreign(loaded) and not {"typing", "dataclasses", "inspect", "re", "importlib.metadata"} & loaded


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize(
    "use",
    [
        "we.gemm(np.ones((16, 16), np.float16), np.ones((16, 16), np.float16))",
        "we.instruction('m16n8k16.f32.f16.f16.f32').a",
        "we.mma(np.ones((16, 16), np.float16), np.ones((16, 8), np.float16))",
        "we.ptx.Module",
        "we.quantise.quantise",
        "we.wmma.fragment",
        "we.testing.assert_bits_equal, we.testing.generators",
        "we.viz.draw_matrix",
        "we.gpu.available",
        "[getattr(we, name) for name in we.__all__]",
    ],
)
def test_what_is_used_first_loads_what_the_package_depends_on_and_no_extra(use):
    loaded = foreign(loaded_by(f"import numpy as np, wmma_emu as we; {use}"))
    assert "numpy" in loaded and loaded <= ALLOWED


def test_a_product_loads_neither_kernels_nor_pictures_nor_explanations():
    loaded = loaded_by("import numpy as np, wmma_emu as we; x = np.ones((16, 16), np.float16); we.gemm(x, x)")
    later = {"cli", "gpu", "kernels", "ptx", "tcgen05", "testing", "viz", "wmma"}
    later |= {"applications", "generators", "schedule"}
    assert not {x for x in loaded if x.startswith("wmma_emu.") and x.split(".")[1] in later}
    assert not {x for x in loaded if x.startswith(("wmma_emu.arithmetic.explanation", "wmma_emu.gemm.comparison"))}


def test_the_command_line_starts_without_numpy():
    assert not foreign(loaded_by("import wmma_emu.cli"))


def test_the_package_of_kernels_loads_a_module_when_it_is_first_used():
    assert not foreign(loaded_by("import wmma_emu.ptx"))
    assert "wmma_emu.ptx.launch.module" not in loaded_by("from wmma_emu.ptx import KINDS")
    assert "wmma_emu.ptx.launch.module" in loaded_by("from wmma_emu.ptx import Module")


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        ("finding", "wmma_emu.ptx.launch"),
        ("compare a100 h100", "wmma_emu.gemm.element"),
        ("show m16n8k16", "wmma_emu.gemm"),
        ("list bf16", "wmma_emu.gemm"),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_use(words, unused):
    loaded = loaded_by(
        "import contextlib, io; from wmma_emu.cli.app import run; away = contextlib.redirect_stdout(io.StringIO()); "
        f"away.__enter__(); assert run({words.split()}) == 0; away.__exit__(None, None, None)"
    )
    assert "wmma_emu.cli.app" in loaded and not {x for x in loaded if f"{x}.".startswith(f"{unused}.")}


def test_an_unknown_name_is_an_attribute_error_with_the_nearest_name():
    text = r"^module 'wmma_emu' has no attribute 'gemn'; did you mean 'gemm'\?$"
    with pytest.raises(AttributeError, match=text) as caught:
        _ = we.gemn
    assert caught.value.name == "gemn" and caught.value.obj is None  # else Python asks again in tracebacks
    with pytest.raises(AttributeError, match=r"^module 'wmma_emu' has no attribute 'xyz'$"):
        _ = we.xyz
    assert not hasattr(we, "__wrapped__")


def test_a_module_that_lacks_a_library_is_not_called_a_missing_attribute(tmp_path, monkeypatch):
    package = tmp_path / "half_a_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "needy.py").write_text("import no_such_library_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    get, _ = on_first_use("half_a_package", ["needy"], {})
    with pytest.raises(ModuleNotFoundError, match="no_such_library_at_all"):
        get("needy")


def test_gemm_stays_the_function_whatever_is_imported():
    code = "import wmma_emu.gemm.gemm, wmma_emu as we; from wmma_emu import gemm; assert gemm is we.gemm is not None"
    assert "wmma_emu.gemm.gemm" in loaded_by(code)
    assert pickle.loads(pickle.dumps(we.gemm)) is we.gemm


@pytest.mark.parametrize("package", ["gemm", "scalar", "warp", "layouts", "arithmetic", "quantise"])
def test_a_public_name_stays_what_it_is_when_a_module_of_that_name_is_imported(package):
    code = f"""
import importlib, pkgutil
package = importlib.import_module("wmma_emu.{package}")
for found in pkgutil.iter_modules(package.__path__):
    if found.name in package.__all__ and found.name in [x for names in package._HOMES.values() for x in names]:
        importlib.import_module(f"{{package.__name__}}.{{found.name}}")
        assert type(getattr(package, found.name)).__name__ != "module", found.name
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_test_may_put_another_gemm_in_its_place(monkeypatch):
    monkeypatch.setattr(we, "gemm", len)
    assert we.gemm is len
    monkeypatch.undo()
    assert we.gemm.__module__ == "wmma_emu.gemm.gemm"


def _lazy_packages():
    return [x for x in ROOT.rglob("__init__.py") if "on_first_use(" in x.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", _lazy_packages(), ids=lambda x: str(x.parent.relative_to(ROOT.parent)))
def test_type_checkers_see_the_names_that_are_imported_on_first_use(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = ".".join(path.parent.relative_to(ROOT.parent).parts)
    block = next(x for x in tree.body if isinstance(x, ast.If) and ast.unparse(x.test) == "TYPE_CHECKING")
    seen = {
        x.module.removeprefix(package).lstrip("."): tuple(name.name for name in x.names)
        for x in block.body if isinstance(x, ast.ImportFrom)
    }  # fmt: skip
    modules = seen.pop("", ())
    module = __import__(package, fromlist=["__all__"])
    assert seen == module._HOMES
    elsewhere = {x for x in module.__all__ if x in vars(module) and x.startswith("__")}
    assert sorted([*modules, *elsewhere, *(x for names in seen.values() for x in names)]) == sorted(module.__all__)


@pytest.mark.thorough
def test_no_module_takes_a_name_from_the_init_of_a_package_that_it_is_in():
    # The init names its modules, if only for type checkers: that is a circle, and one that import-linter does not see.
    wrong = []
    for path in ROOT.rglob("*.py"):
        module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and module.startswith(f"{node.module}."):
                folder = ROOT.parent.joinpath(*node.module.split("."))
                names = [x.name for x in node.names]
                own = [x for x in names if not (folder / f"{x}.py").exists() and not (folder / x).is_dir()]
                wrong += [(module, node.module, x) for x in own if path.name != "__init__.py" or path.parent != folder]
    assert not wrong


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("gpu.campaign", "applications.campaign"),
        ("testing.analysis", "applications.error_analysis"),
        ("testing.exact", "applications.error_analysis.exact"),
        ("testing.generators", "generators"),
        ("testing.probing", "applications.probing"),
        ("viz.explorer", "applications.explorer"),
        ("viz.palette", "palette"),
        ("warp.schedule", "schedule"),
    ],
)
def test_where_users_look_for_an_application_they_find_it(path, home):
    found, own = import_module(f"wmma_emu.{path}"), import_module(f"wmma_emu.{home}")
    names = set(getattr(own, "__all__", found.__all__))
    assert names <= set(found.__all__) and all(getattr(found, x) is getattr(own, x) for x in names)


def _public_packages(package=we):
    """The package, and what is public in it and has a list of public names."""
    yield package
    for name in package.__all__:
        inner = getattr(package, name)
        if isinstance(inner, type(we.errors)) and hasattr(inner, "__all__") and not lacks_its_library(inner):
            yield from _public_packages(inner)


PUBLIC = {x.__name__: x for x in _public_packages()}


@pytest.mark.parametrize("name", PUBLIC)
def test_dir_shows_public_names_and_nothing_else(name):
    package = PUBLIC[name]
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, x) for x in package.__all__)


def test_what_the_reference_describes_can_be_found_by_completion():
    pages = (ROOT.parent / "docs/reference/api").glob("*.md")
    found = {x for page in pages for x in re.findall(r"^# (wmma_emu[\w.]*)$", page.read_text(encoding="utf-8"), re.M)}
    assert found and found <= set(PUBLIC)


def test_a_prompt_completes_public_names_that_nobody_has_used():
    code = (
        "import rlcompleter, wmma_emu as we; c = rlcompleter.Completer({'we': we}); "
        "print(*sorted(x.strip('(') for x in c.attr_matches('we.viz.draw_m') + c.attr_matches('we.p')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["we.ptx", "we.viz.draw_matrix"]


def test_the_package_is_pickled_by_its_name():
    # cloudpickle, and so dask, meets it among the globals of a user's function.
    import copy
    import pickle

    import wmma_emu

    for module in (wmma_emu, wmma_emu.scalar, wmma_emu.testing):
        assert pickle.loads(pickle.dumps(module)) is module and copy.deepcopy(module) is module


def _public_callables():
    """Every public function, and every public class with its methods, by a name that says where it is found."""
    for package in PUBLIC.values():
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isclass(found) and found.__module__.startswith("wmma_emu"):
                methods = [x for at, x in vars(found).items() if inspect.isfunction(x) and at.strip("_") == at]
                yield from ((f"{package.__name__}.{name}", x) for x in (found, found.__init__, *methods))
            elif inspect.isfunction(found):
                yield f"{package.__name__}.{name}", found


def test_the_annotations_of_public_functions_and_classes_are_names_that_exist():
    found = list(_public_callables())
    assert {"wmma_emu.gemm", "wmma_emu.instruction", "wmma_emu.ptx.Module"} <= {name for name, _ in found}
    unknown = set()
    for name, function in found:
        try:
            typing.get_type_hints(function)
        except NameError as error:
            unknown.add(f"{name}: {error}")
    assert not unknown


def test_the_annotations_of_a_product_name_classes_that_it_does_not_load():
    from wmma_emu.quantise import BlockScaled
    from wmma_emu.tcgen05 import BoundTensorInstruction

    assert BlockScaled in typing.get_args(typing.get_type_hints(we.gemm)["A"])
    assert BoundTensorInstruction in typing.get_args(typing.get_type_hints(we.instruction)["return"])
