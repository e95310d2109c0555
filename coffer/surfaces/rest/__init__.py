"""The REST API: `/api/v1`, JSON, for the command line, programs and people with curl.

    app             build_app: every route on its ports; DaemonFacts, what the daemon tells of itself
    guard           who may talk to the daemon at all, on each of its two doors
    route           what one route takes and answers, and how a request is read by it
    schema          shapes, enforced and published
    json_body       JSON within limits
    errors          codes and statuses
    error_handlers  what is answered and logged when something goes wrong
    openapi         the description, generated from the routes
    stores, facts, recall, history, activity, daemon: the routes

Handlers parse nothing, decide nothing and translate no error: they call one use case and tell its result.
"""
