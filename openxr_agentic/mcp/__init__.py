"""The agent's server: an app's tools over MCP.

It lives in a process beside the app and knows the app only by its control
channel (`openxr_agentic.host.channel`), so it serves an app in any language
and outlives the app's restarts.

    ports       which address and port to listen on, and who holds it
    app_link    the connection to the app: found, lost and found again
    schemas     the extension's parameters as a JSON schema
    answers     how a call ended, as an MCP result
    server      tools/list, tools/call and list_changed
    policy      which tools agents may use
    audit       one line for each call
    access      who may talk to the server: Host, Origin, token
    gate        the same, as middleware in front of both transports
    transports  streamable HTTP and HTTP+SSE on one port
    stdio       one client on stdin and stdout

Everything but `ports`, `access`, `policy`, `audit` and `schemas` needs the extra ``mcp``
(on Python 3.10 `policy` does too, for TOML).
"""
