"""Measurements: metrics and task logs, which arrive too fast for the event log and have stores of their own.

Append-only tables, written in groups, where sending something twice stores it once.
"""
