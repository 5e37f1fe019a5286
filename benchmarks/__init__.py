"""What ptxlab costs, always beside what one would use instead, in one run on one machine: `python -m benchmarks`."""
