"""The model registry: named models, whose versions are checkpoints."""
