"""The agent's server: apps' tools over MCP.

It lives in a process beside the apps and knows them only by their control
channels (`openxr_agentic.host.channel`), so it serves apps in any language
and outlives their restarts. A call goes down this list and back:

    transports/  how clients reach the server, and who may
    server       tools/list, tools/call and list_changed
    limits/      what agents may do, and what is written down of it
    answering/   what agents are told of tools, and what they get of a call
    apps/        the connections to the apps

All that speaks MCP needs the extra ``mcp``; `transports.ports`, `transports.access`, `limits`
and `answering.schemas` do not (on Python 3.10 `limits.policy` does, for TOML).
"""
