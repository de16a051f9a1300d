"""Configuration templates: named parts of configurations that submissions are built on."""
