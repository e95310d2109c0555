"""`coffer daemon`: run it, start it, stop it, ask how it is, change its token."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from contextlib import suppress

from coffer.surfaces.cli.client import Client, Failed, Json
from coffer.surfaces.cli.parsing import Commands, add_command, add_group, add_json
from coffer.surfaces.cli.render import fields, print_json

STOP_SECONDS = 15.0

NEXT_STEPS = """\
Coffer keeps its memory in {memory}. Ctrl-C ends the daemon; agents start it again when they need it.
In another terminal, connect the agents on this machine:
  {here}/coffer setup
Any other MCP client gets this command, with a name of its own:
  {here}/coffer-mcp-shim --agent my-client
Inside a git project:
  {here}/coffer memory add . "what to remember"
  {here}/coffer memory recall . "what to look for"
"""


def register(commands: Commands) -> None:
    """Add the group to the command line."""
    group = add_group(commands, "daemon", "The process that keeps the memory.")
    add_command(group, "run", _run, "Run the daemon here, until Ctrl-C.")
    add_command(group, "start", _start, "Start the daemon when it isn't running.")
    add_command(group, "stop", _stop, "End the daemon, after what it is writing.")
    add_json(add_command(group, "status", _status, "Tell how the daemon is, without starting it."))
    add_command(group, "rotate-token", _rotate_token, "Make a new token; the old one is refused from now on.")


def _run(arguments: argparse.Namespace, client: Client) -> int:
    """Become the daemon, so that signals and the exit status are its own."""
    here = os.path.dirname(os.path.abspath(sys.argv[0]))
    print(NEXT_STEPS.format(memory=os.path.join(client.home, "memory"), here=here), flush=True)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "coffer.daemon"])


def _start(arguments: argparse.Namespace, client: Client) -> int:
    client.start()
    print(f"The daemon is running (pid {client.get('/daemon/status').json()['pid']}).")
    return 0


def _stop(arguments: argparse.Namespace, client: Client) -> int:
    if not _lock_held(client.home):
        print("The daemon isn't running.")
        return 0
    pid = discovery_file(client.home).get("pid")
    if not isinstance(pid, int) or pid <= 1:
        raise Failed("The daemon is still starting and its pid isn't known yet; try again in a moment.")
    with suppress(ProcessLookupError):  # It ended by itself; its lock goes with it.
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _lock_held(client.home):
        if time.monotonic() > deadline:
            raise Failed(f"The daemon (pid {pid}) was asked to end and is still at work; look into its log.")
        time.sleep(0.02)
    print("The daemon has ended.")
    return 0


def _status(arguments: argparse.Namespace, client: Client) -> int:
    try:
        answer = client.get("/daemon/status", start=False)
    except Failed as failed:
        if failed.code or _lock_held(client.home):
            raise
        raise Failed("The daemon isn't running; `coffer daemon start` starts it.") from None
    if arguments.json:
        print_json(answer.body)
        return 0
    status, found = answer.json(), discovery_file(client.home)
    print(
        fields(
            [
                ("version", status["version"]),
                ("pid", status["pid"]),
                ("uptime", _duration(int(status["uptime_s"]))),
                ("ready", "yes" if status["ready"] else "not yet"),
                ("socket", found.get("socket")),
                ("port", found.get("port") or "off"),
            ]
        )
    )
    return 0


def _rotate_token(arguments: argparse.Namespace, client: Client) -> int:
    client.send("POST", "/daemon/rotate-token", {})
    print(f"The token is new; HTTP clients find it in {os.path.join(client.home, 'token')}.")
    return 0


def discovery_file(home: str) -> Json:
    """Return what the daemon wrote about itself; nothing when that can't be read."""
    try:
        with open(os.path.join(home, "daemon.json"), "rb") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _lock_held(home: str) -> bool:
    """Return whether a daemon lives; only then is the pid in its discovery file its own."""
    import fcntl  # not there on every system, and the other commands do without it

    try:
        lock = os.open(os.path.join(home, "daemon.lock"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _duration(seconds: int) -> str:
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s"
