"""Views: rows of the read model as the wire shows them."""
