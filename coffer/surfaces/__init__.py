"""The doors. Each parses, calls one use case and translates its answer or error; no rule lives here."""
