"""The daemon over REST: how it is, how the memory is, a new token."""

from __future__ import annotations

from dataclasses import asdict

from coffer.application.doctor import diagnose
from coffer.domain.activity import AuditEvent
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, boolean, integer, maybe, number, record, string

CHECK = record(
    "Check",
    "One finding.",
    {
        "name": string("What was looked at."),
        "status": string("How it is.", enum=["ok", "warning", "problem"]),
        "message": string("What was found."),
        "action": maybe(string("What to do.")),
    },
)


async def _status(asked: Asked) -> Answer:
    daemon = asked.daemon
    uptime = asked.ports.clock.elapsed() - daemon.started
    return Answer(
        {"version": daemon.version, "pid": daemon.pid, "uptime_s": round(uptime, 3), "ready": daemon.ready()}
    )


async def _rotate_token(asked: Asked) -> Answer:
    await asked.daemon.rotate_token()
    asked.ports.state.audit(AuditEvent("token_rotated", asked.caller))
    return Answer({"rotated": True})


async def _doctor(asked: Asked) -> Answer:
    findings = await diagnose(asked.ports)
    return Answer(
        {
            "ok": all(finding.status != "problem" for finding in findings),
            "checks": [asdict(finding) for finding in findings],
        }
    )


ROUTES = (
    Route(
        "GET",
        "/daemon/status",
        "Tell that the daemon runs; needs no token.",
        _status,
        {
            200: record(
                "DaemonStatus",
                "The daemon.",
                {
                    "version": string("Coffer's version."),
                    "pid": integer("Its process."),
                    "uptime_s": number("Seconds since it started."),
                    "ready": boolean("Whether it serves agents yet."),
                },
            )
        },
    ),
    Route(
        "POST",
        "/daemon/rotate-token",
        "Make a new token; only the file `token` in Coffer's home tells it, and the old one is refused.",
        _rotate_token,
        {200: record("Rotated", "What was done.", {"rotated": boolean("Always true.")})},
        headers=ACTOR,
    ),
    Route(
        "GET",
        "/doctor",
        "Check that everything is in order; `ok` is false when a check found a problem.",
        _doctor,
        {
            200: record(
                "Diagnosis",
                "How the memory is.",
                {"ok": boolean("Whether no check found a problem."), "checks": array("The checks.", CHECK)},
            )
        },
    ),
)
