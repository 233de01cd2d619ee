"""Apps that get the API layer as users give it to them, by environment variables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openxr_agentic.host import LAYER_NAME, layer_manifest_path, manifest_path

APP = Path(__file__).resolve().with_name("layer_app.py")
ANSWERS = ['answer {"a":1}'] * 2
CORE_VALIDATION = "XR_APILAYER_LUNARG_core_validation"
API_DUMP = "XR_APILAYER_LUNARG_api_dump"


def environment(*layers, folders=(), **more):
    """An environment with these layers enabled, from top to bottom; without any named, ours."""
    set_here = ("XR_API_LAYER", "XR_ENABLE_API", "OPENXR_AGENTIC_CHANNEL", "OPENXR_AGENTIC_NUMBERS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(set_here)}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "XR_API_LAYER_PATH": os.pathsep.join(map(str, folders or [layer_manifest_path().parent])),
        "XR_ENABLE_API_LAYERS": os.pathsep.join(layers or [LAYER_NAME]),
        **more,
    }


def over_mock(*layers, offers=False, **more):
    """The same, over the mock runtime with or without the extension."""
    mock = {"XR_RUNTIME_JSON": str(manifest_path()), "OPENXR_AGENTIC_MOCK_EXTENSION": str(int(offers))}
    return environment(*layers, **mock, **more)


def run(env, *arguments):
    """Run `layer_app.py` to its end."""
    pytest.importorskip("xr", exc_type=Exception)
    command = [sys.executable, APP, *map(str, arguments)]
    return subprocess.run(command, env=env, check=False, capture_output=True, text=True, timeout=100)


def khronos_layers():
    """The folder of core_validation and api_dump, which pyopenxr brings; skips where it does not."""
    xr = pytest.importorskip("xr", exc_type=Exception)
    from xr.platform_folder import platform_folder

    folder = Path(xr.__file__).parent / "api_layer" / platform_folder()[0]
    if not (folder / "XrApiLayer_core_validation.json").is_file():
        pytest.skip("pyopenxr brings no core_validation for this platform")
    return folder
