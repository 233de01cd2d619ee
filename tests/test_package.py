"""The package as a whole: what importing it costs and touches, and who may import whom."""

import ast
import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic.host import control
from openxr_agentic.testing import raw_instance

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "openxr_agentic"

# A module imports only from those before it; a name stands for a folder too.
APP_SIDE = [
    "errors",
    "file_lock",
    "plain_files",
    "descriptors",
    "parameters",
    "header_numbers",
    "failures",
    "server_process",
    "schema",
    "results",
    "arguments",
    "async_run",
    "definition",
    "_native",
    "architecture",
    "loader",
    "availability",
    "metadata",
    "native_tools",
    "registrations",
    "native_process",
    "extension",
    "registry",
    "attachment",
]
HOST_SIDE = ["errors", "host"]
ABOVE_BOTH = ["mcp", "testing", "doctor", "cli"]
# Imported inside a function, where a module further up the list completes one further down.
LATE = {"registry": {"attachment"}}  # ToolRegistry.attach


def for_types_only(tree):
    """The imports under `if TYPE_CHECKING`, which do not run."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }


def imported_by(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    ignored = for_types_only(tree)
    for node in [node for node in ast.walk(tree) if node not in ignored]:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("openxr_agentic"):
            if node.module == "openxr_agentic":
                yield from (alias.name for alias in node.names if alias.name != "__version__")
            else:
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("openxr_agentic."))


def files_of(name):
    return [PACKAGE / f"{name}.py"] if (PACKAGE / f"{name}.py").is_file() else (PACKAGE / name).rglob("*.py")


@pytest.mark.parametrize("name", [*APP_SIDE, "host", *ABOVE_BOTH])
def test_a_module_imports_only_from_those_before_it(name):
    allowed = {
        **{module: {*APP_SIDE[: APP_SIDE.index(module) + 1], "_native", *LATE.get(module, ())} for module in APP_SIDE},
        "host": set(HOST_SIDE),
        "mcp": {"errors", "file_lock", "descriptors", "host", "mcp"},
        "testing": {*APP_SIDE, "host", "testing"},
        "doctor": {*APP_SIDE, "host", "mcp", "testing", "doctor"},
    }.get(name)
    for file in files_of(name):
        strangers = set(imported_by(file)) - allowed if allowed else set()
        assert not strangers, f"{file.relative_to(ROOT)} imports {strangers}"


def test_every_module_has_its_place_in_the_order():
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    modules |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert modules - {"__init__", "__main__"} == {*APP_SIDE, "host", *ABOVE_BOTH}


def test_importing_the_package_imports_nothing_heavy():
    program = "import sys, openxr_agentic; print(*sorted(name.split('.')[0] for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    heavy = {"xr", "numpy", "mcp", "pydantic", "click", "rich", "OpenGL", "asyncio", "_cffi_backend", "ctypes"}
    assert not heavy & set(done.stdout.split())


def test_every_public_name_can_be_had_and_is_listed():
    for name in agentic.__all__:
        assert getattr(agentic, name) is not None
        assert name in dir(agentic)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        agentic.nonsense  # noqa: B018
    assert agentic.EXTENSION_NAME == "XR_METAX1_agentic_external_tool"


def test_the_installed_package_says_that_it_is_typed_and_needs_python_3_10():
    assert (PACKAGE / "py.typed").is_file()
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^requires-python = ">=3\.10"$', project, re.MULTILINE)
    assert f'version = "{agentic.__version__}"' in project


def test_a_32_bit_python_is_refused_with_the_reason():
    program = "import sys; sys.maxsize = 2**31 - 1\nimport openxr_agentic._native"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "UnsupportedInterpreterError" in done.stderr
    assert "64-bit Python" in done.stderr


def test_a_binding_that_is_not_built_is_an_error_that_says_how_to_build_it():
    program = "import sys; sys.modules['openxr_agentic._native._binding'] = None\nimport openxr_agentic._native"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "NativeBuildMissingError" in done.stderr
    assert "pip install" in done.stderr


def foreign_functions():
    """Every ctypes function type that the package declares, by name."""
    for name, kind in control._Table._fields_:
        if issubclass(kind, ctypes._CFuncPtr):
            yield f"control.{name}", kind
    for name, kind in vars(raw_instance).items():
        if isinstance(kind, type) and issubclass(kind, ctypes._CFuncPtr):
            yield f"raw_instance.{name}", kind


@pytest.mark.parametrize(("name", "kind"), list(foreign_functions()))
def test_every_foreign_function_declares_its_arguments_and_result(name, kind):
    """Undeclared, ctypes would cut pointers to 32 bits."""
    assert kind._argtypes_ is not None, name
    assert hasattr(kind, "_restype_"), name


def test_no_foreign_function_is_called_undeclared():
    found = {}
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for opened in re.findall(r"(?:CDLL|PyDLL|WinDLL|pythonapi)\b.*", text):
            found.setdefault(file.name, []).append(opened)
    # probe.py calls none: it only looks whether one is there.
    assert set(found) == {"control.py", "loader.py", "raw_instance.py", "native_process.py", "probe.py"}, found
