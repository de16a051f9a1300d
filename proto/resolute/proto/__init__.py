"""Every command and event of Resolute: the words its services say to one another."""
