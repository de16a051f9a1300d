"""The agent: one host's slots, its tasks, their logs and exit codes."""
