"""Which trials use a checkpoint, or a version of a model, and what they reported."""
