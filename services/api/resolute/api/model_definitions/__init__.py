"""The code that experiments were submitted with."""
