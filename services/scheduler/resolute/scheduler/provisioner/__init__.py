"""Starting and ending the instances of elastic pools, as `resolute.scheduling.elastic` decides.

`shell` carries the decisions out, `provider` is what it needs for that, and `local` the one provider there is so far.
"""
