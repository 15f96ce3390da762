"""Where records come from and rows go to."""
