"""The history of the cluster: the event log over REST, for administrators."""
