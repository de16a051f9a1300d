"""The embedded cluster: everything a cluster is made of, started, kept and stopped on one machine."""
