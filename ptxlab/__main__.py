"""`python -m ptxlab` is `ptxlab`."""

from .cli import main

raise SystemExit(main())
