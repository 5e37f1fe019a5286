"""A stand-in for CPU tensors of torch, which tests do not need then."""

from __future__ import annotations

from typing import Any


class TensorType:
    """As `torch.float32`."""

    is_floating_point = True

    def __init__(self, dtype: Any) -> None:
        self._name = f"torch.{dtype.name}"
        self.itemsize = dtype.itemsize

    def __str__(self) -> str:
        return self._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return str(other) == self._name


class Tensor:
    """What Triton asks of a tensor, for the memory of a NumPy array."""

    def __init__(self, array: Any, device: str = "cpu") -> None:
        self._array, self.device = array, device
        self.shape, self.dtype, self.data = array.shape, TensorType(array.dtype), self

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self._array.itemsize for step in self._array.strides)


class Held:
    """An array that another library holds."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self._array = array
