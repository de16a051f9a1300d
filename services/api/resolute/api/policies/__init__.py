"""Configuration policies: what administrators set for, and allow in, what is submitted."""
