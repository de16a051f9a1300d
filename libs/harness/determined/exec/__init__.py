"""Programs that a task's process starts with."""
