"""The use cases: plain functions that take what they need from outside as ports."""
