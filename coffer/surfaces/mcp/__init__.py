"""The memory as MCP tools, for clients of the current and the previous protocol revision."""
