"""Parts that talk to the outside: the cluster's REST interface and checkpoint storage."""
