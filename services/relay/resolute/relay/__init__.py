"""The relay: carries the log to the bus, and owns nothing."""
