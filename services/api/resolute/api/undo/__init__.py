"""What requests changed, and what it was before: all that is needed to put it back."""
