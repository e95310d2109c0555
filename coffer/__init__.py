"""One memory for every coding agent on a machine: markdown files in a git repository, served by a daemon.

surfaces         how people and agents reach it: REST, MCP, command line, shim, hook
application      the use cases, one module each, named by what is done
domain           the words and the rules, and what the use cases need from outside (ports)
infrastructure   what meets those needs: files, commits, index, state
bootstrap        joins the ports to them, and is the only place that knows both
daemon           the process, from its lock to its sockets
serving          what runs in it: two doors, the applications behind them, an orderly end
discovery        how the command line, the shim and the hooks find or start the daemon

`lanes` and `gitsync` beside this package know nothing of it: what memory looks like, and one repository.
"""
