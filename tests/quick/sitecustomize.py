"""On PYTHONPATH of what the tests start: jsonschema would import a package that builds a grammar for two seconds, for a check that nothing here makes."""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
