"""The queue of each pool: the places of its jobs."""
