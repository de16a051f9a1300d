"""The pure core of the searcher: experiments, their trials, and the methods that decide which trials to make."""
