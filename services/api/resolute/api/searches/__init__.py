"""Searches: how trials follow theirs, and how a client directs a custom one."""
