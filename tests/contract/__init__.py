"""The contract of errors: every public function answers, or raises `PtxlabError` with one sentence."""
