"""The directory: users and their sessions, workspaces and projects."""
