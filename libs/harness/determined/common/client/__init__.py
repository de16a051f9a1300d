"""What `det` and the Python SDK share: addresses of masters, saved logins, certificates, passwords, streams."""
