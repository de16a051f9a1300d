"""System metrics of trials, as series: what the profiler of a trial measures on the machines that it trains on."""
