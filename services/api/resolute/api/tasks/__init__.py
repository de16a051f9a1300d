"""Tasks: their allocations, and the parts of each allocation on the agents."""
