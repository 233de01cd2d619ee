"""The API layer over the OpenXR runtime that is active, for tests of host behaviour: ``make test-real``."""

import os

from openxr_agentic import loader
from openxr_agentic.host import manifest_path
from openxr_agentic.host.variables import with_layer
from openxr_agentic.testing import MockRuntime


def why_not_here():
    """Why there is no real runtime to test on; empty: there is one."""
    how, manifest = loader.active_runtime()
    if manifest is None:
        return f"there is no OpenXR runtime to test on: {how}"
    return "the active runtime is our own mock" if manifest.resolve() == manifest_path() else ""


class LayerOverActiveRuntime(MockRuntime):
    """MockRuntime's agent, played on the layer over the runtime that is active instead of over the mock runtime."""

    def __init__(self, **options):
        super().__init__(layer=True, **options)

    def _selection(self):
        return with_layer(os.environ)

    def _claim_loader(self):
        """Whichever runtime the loader holds is the right one."""

    @property
    def _runtime(self):
        return self._control  # the layer knows its instances too
