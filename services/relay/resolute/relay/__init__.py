"""The relay: publishes the events of the log on the bus."""
