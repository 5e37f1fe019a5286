"""Memory: tiles, swizzles, descriptors, banks, tensor maps; scales and metadata as libraries store them."""

from __future__ import annotations

from .banks import BANKS, Collision, Conflicts, conflicts
from .descriptors import Descriptor, Tcgen05Descriptor, descriptor, encode_descriptor
from .im2col import Im2colMap, im2col_map
from .library_formats import (
    WeightOrder,
    metadata_from_registers,
    metadata_registers,
    pack_metadata,
    reorder_metadata,
    restore_metadata,
    scale_offset,
    tile_scales,
    unpack_metadata,
    untile_scales,
    weight_order,
)
from .swizzle import SWIZZLES, SharedLayout
from .tcgen05_tiles import pack_lookup, unpack_lookup
from .tensor_maps import TensorMap, tensor_map
from .tile import Judgement, Modes, Tile
from .triton_layouts import TritonLayout

__all__ = [
    "BANKS",
    "SWIZZLES",
    "Collision",
    "Conflicts",
    "Descriptor",
    "Im2colMap",
    "Judgement",
    "Modes",
    "SharedLayout",
    "Tcgen05Descriptor",
    "TensorMap",
    "Tile",
    "TritonLayout",
    "WeightOrder",
    "conflicts",
    "descriptor",
    "encode_descriptor",
    "im2col_map",
    "metadata_from_registers",
    "metadata_registers",
    "pack_lookup",
    "pack_metadata",
    "reorder_metadata",
    "restore_metadata",
    "scale_offset",
    "tensor_map",
    "tile_scales",
    "unpack_lookup",
    "unpack_metadata",
    "untile_scales",
    "weight_order",
]
