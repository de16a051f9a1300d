"""The web page: the files that browsers run, and what serves them."""
