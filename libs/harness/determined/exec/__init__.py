"""The programs with which a task's process starts."""
