"""Types and lint of the explorer's JavaScript: `python -m tests.front`, a part of `make lint`; users need none of it."""
