"""Tasks that are no trials, of every kind: their rows, their launch, and what is done with them."""
