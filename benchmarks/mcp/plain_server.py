"""The plain server of `benchmarks.mcp`: the same tool on the mcp package's own low-level server, in this process.

    python -m benchmarks.mcp.plain_server TOOL STRUCTURED LOOK_UP

Prints its port, and serves until SIGTERM. TOOL is what our server lists, as JSON. STRUCTURED is 1 when the answers
have structured content, as ours have. With LOOK_UP 1 the package is told how to find the tool's schema, as our
server tells it; else it lists all tools for each call, as is its own way.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext

from benchmarks.mcp.app import echo
from openxr_agentic.mcp.transports.ports import listen

Context = ServerRequestContext[dict[str, Any]]


def make_server(tool: types.Tool, *, structured: bool, look_up: bool) -> Server[dict[str, Any]]:
    """Return a server as one writes it by hand."""

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        result = echo(**(params.arguments or {}))
        text = json.dumps(result, separators=(",", ":"))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=result if structured else None
        )

    return Server(
        "plain",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=(lambda _name: tool.input_schema) if look_up else None,
    )


def main(tool: str, structured: str, look_up: str) -> None:
    """Serve on a free port of 127.0.0.1, with all that the package does there by default."""
    server = make_server(types.Tool.model_validate_json(tool), structured=structured == "1", look_up=look_up == "1")
    listener = listen(0)
    print(listener.getsockname()[1], flush=True)
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical", access_log=False))
    web.run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
