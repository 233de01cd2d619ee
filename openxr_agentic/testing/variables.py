"""Environment variables of this process, changed for a while."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ChangedVariables:
    """Sets environment variables, and gives them back.

    Args:
        values: The variables and their values.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._ours = dict(values)
        self._before = {name: os.environ.get(name) for name in values}
        os.environ.update(self._ours)

    def restore(self) -> None:
        """Set everything as it was, but for what others have appended since.

        ``import xr`` appends a folder of its own to XR_API_LAYER_PATH, once in a process.
        """
        for name, before in self._before.items():
            now, ours = os.environ.get(name, ""), self._ours[name]
            appended = now[len(ours) :] if now.startswith(ours + os.pathsep) else ""
            restored = (before or "") + appended
            if before is None and not appended:
                os.environ.pop(name, None)
            else:
                os.environ[name] = restored if before else restored.removeprefix(os.pathsep)
