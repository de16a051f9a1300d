"""The message that administrators show to everybody."""
