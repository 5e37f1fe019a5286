"""A kernel in PTX around a few instructions, with registers of every kind, for tests of the simulator."""

from __future__ import annotations

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"


def ptx(body: str, parameters: str = ".param .u64 a", before: str = "", directives: str = "") -> str:
    """A kernel with registers of every kind."""
    return f"{HEAD}{before}.visible .entry k({parameters}) {directives} {{\n{REGISTERS}{body}\nret;\n}}\n"


#: Every thread writes its number to its place in an array of words.
PUT = ptx("ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;"
           "st.global.u32 [%d1], %r1;")  # fmt: skip
