"""The things that the Python SDK shows: experiments, trials, checkpoints, models, workspaces, users."""
