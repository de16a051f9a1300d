"""Webhooks: which there are, what they are sent and when, and the requests themselves."""
