"""The gateway: REST in, commands and events out; read models, measurements and logs behind it."""
