"""How clients reach the server, and who may.

http    streamable HTTP and HTTP+SSE on one port
stdio   one client on stdin and stdout
ports   which address and port to listen on, and who holds it
access  who may talk to the server: Host, Origin, token
gate    the same, as middleware in front of both HTTP transports
"""
