"""The scheduler: resource pools, agents and their slots, allocations and the queue for them."""
