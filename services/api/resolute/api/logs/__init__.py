"""Logs: shipping lines, reading and following them, how long they are kept, and the gateway's own."""
