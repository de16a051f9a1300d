"""Charts of a search: metrics of all trials of an experiment, followed while they train."""
