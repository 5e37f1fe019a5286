"""Types and lint of the explorer's JavaScript: `python -m tools.check_javascript`, a part of `make lint`; users need none of it."""
