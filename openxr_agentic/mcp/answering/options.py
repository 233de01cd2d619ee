"""What whoever starts the server decides about its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from openxr_agentic.mcp.limits.policy import Policy

if TYPE_CHECKING:
    from openxr_agentic.mcp.limits.audit import AuditLog

CALL_SECONDS: Final = 30.0
"""How long a call may take when nobody says otherwise; the same as the host's own limit."""

LEAST_RESULT_BYTES: Final = 256
"""The lowest cap on results: what says that one was cut must fit."""


@dataclass(frozen=True)
class ServerOptions:
    """How a server answers.

    Attributes:
        as_meta: Tell agents what the extension itself carries, and nothing of the
            metadata: what Meta's layer could know.
        policy: Which tools agents see and may call.
        audit: Where each call is written down; None: nowhere.
        call_timeout: Seconds until a call is given up.
        max_result_bytes: The longest text of a result in bytes of UTF-8, at least
            `LEAST_RESULT_BYTES`; longer ones are cut, and say so. None: no limit.
    """

    as_meta: bool = False
    policy: Policy = field(default_factory=Policy)
    audit: AuditLog | None = None
    call_timeout: float = CALL_SECONDS
    max_result_bytes: int | None = None
