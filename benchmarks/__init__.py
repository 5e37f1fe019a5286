"""How fast ptxlab is, beside what one would use instead on the same machine: `python -m benchmarks`."""
