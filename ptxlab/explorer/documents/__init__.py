"""What the Explorer edits: a product or a transfer, what it reads, and what it starts with."""
