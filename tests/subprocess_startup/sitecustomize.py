"""On PYTHONPATH of the processes that tests start: keep jsonschema from importing rfc3987_syntax.

That package builds a grammar for two seconds, for a check that nothing here makes.
"""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
