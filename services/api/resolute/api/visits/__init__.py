"""Which projects a user looked at last."""
