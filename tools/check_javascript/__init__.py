"""Types and lint of the Explorer's JavaScript: `python -m tools.check_javascript`, a part of `make lint`."""
