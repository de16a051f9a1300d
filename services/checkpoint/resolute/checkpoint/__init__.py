"""The checkpoint store: which checkpoints there are, which of them stay, and the files behind them."""
