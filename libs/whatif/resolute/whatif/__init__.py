"""Questions about what would happen: searches that are only played, and recorded work under another policy.

`searches` plays a search on a made-up clock; `pools` plays a pool's recorded work. What is decided while they play is
decided by the code that decides in a cluster: `resolute.search` and `resolute.scheduling`.
"""
