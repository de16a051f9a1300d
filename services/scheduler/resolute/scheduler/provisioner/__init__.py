"""Starting and ending the instances of elastic pools, as `resolute.scheduling.elastic` decides.

`shell` carries the decisions out, `provider` is the interface of a provider of instances, and `local` the only provider
so far.
"""
