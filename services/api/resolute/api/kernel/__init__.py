"""What every slice of the gateway stands on. Nothing in here knows a slice by name."""
