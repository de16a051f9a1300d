"""The gateway's edge: which connections are open, how long they may be slow, and which requests of browsers count.

`limits` holds the settings, `admission` decides whether a connection has room, `protocol` watches one connection,
`listener` accepts connections and looks at all of them in turn. `headers` and `origins` are about browsers: what every
answer tells them, and which of their requests a cookie may sign.
"""
