"""Programs that start the workers of a trial."""
