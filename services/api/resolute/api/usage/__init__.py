"""What the cluster was used for: slots held and for how long, allocation by allocation or by day and month."""
