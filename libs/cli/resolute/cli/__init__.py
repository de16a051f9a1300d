"""`det` and `resolute`: the command lines."""
