"""PTX text as typed data: modules, functions, variables, instructions with operands and source lines."""
