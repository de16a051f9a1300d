"""Resource pools: their agents and the slots of the agents."""
