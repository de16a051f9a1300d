"""Users, and the settings that the web app keeps for them."""
