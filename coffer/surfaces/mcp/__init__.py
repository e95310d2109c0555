"""MCP: the built-in tools for agents, over HTTP at `/mcp` and over the shim's websocket at `/mcp-stdio`.

    app        the ASGI application of both ways, and their end
    duplex     one connection of the shim, whichever protocol era its agent speaks
    server     lists the tools and answers calls, with errors that a model can read
    tools      what each tool is called, takes, answers and does
    arguments  a call's arguments checked against the tool's schema
    caller     which agent calls, and from which folder

The SDK takes most of a second to import, so nothing outside this package imports more than `app`, and that late.
"""
