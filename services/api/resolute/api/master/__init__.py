"""What the cluster says of itself: its name and version, its settings, its health, and its operations."""
