"""The coding agents that Coffer knows; adding one is adding a module and a line in `kinds`.

kinds           every type, and those that are on this machine
claude_code     Claude Code
codex           Codex
opencode        OpenCode
cursor          Cursor
commands        the command lines that agents are given, and how they are known again
server_entry    Coffer's MCP server among an agent's others
hook_entries    Coffer's hooks among an agent's others, and what a hook says
native_memory   an agent's own memory, switched off and restored
"""
