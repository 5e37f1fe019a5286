"""How long a kernel takes on a chip, and what its warps wait for, without the chip."""
