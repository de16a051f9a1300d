"""The agent: looks after the slots of one host and the tasks on them, their logs and their exit codes."""
