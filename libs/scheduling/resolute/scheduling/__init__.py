"""The pure core of the scheduler: resource pools, agents, slots, allocations, and the policies that share slots."""
