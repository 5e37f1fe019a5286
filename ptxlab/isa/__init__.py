"""What the PTX ISA says, as data.

Element types, layouts, operands, instructions, targets, and the catalogue of every legal form.
"""
