"""The checkpoint store: which checkpoints there are, which of them are kept, and their files."""
