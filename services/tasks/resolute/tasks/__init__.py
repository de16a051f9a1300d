"""Tasks that are no trials: their lives, and what runs in their allocations."""
