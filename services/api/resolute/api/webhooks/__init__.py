"""Webhooks, and what they were sent."""
