"""The searcher: experiments, their trials, and the search methods that create trials."""
