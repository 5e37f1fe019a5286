"""Clock, power and temperature of the GPU, as its driver reports them (NVML, or `nvidia-smi`)."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

from .cuda_python import load

__all__ = ["Reading", "driver_version", "limits", "read_sensors"]

_QUERY = ("clocks.sm", "power.draw.instant", "temperature.gpu")


@dataclass(frozen=True)
class Reading:
    """What the sensors say at one moment; None where the driver does not say.

    >>> Reading(1755.0, 698.2, 61.0).power
    698.2
    """

    clock: float | None  # of the SMs, MHz
    power: float | None  # W
    temperature: float | None  # degrees Celsius


_UNKNOWN = Reading(None, None, None)


@lru_cache(maxsize=1)
def _nvml() -> tuple[ModuleType, int] | None:
    """NVML and the handle of the first GPU; None where there is none."""
    try:
        nvml = load("cuda.bindings.nvml")
        nvml.init_v2()
        return nvml, nvml.device_get_handle_by_index_v2(0)
    except Exception:  # an older cuda-bindings, no NVML in the container, no driver: each has its own error
        return None


def read_sensors() -> Reading:
    """Clock, power and temperature now.

    >>> read_sensors()   # doctest: +SKIP
    Reading(clock=1755.0, power=698.2, temperature=61.0)
    """
    library = _nvml()
    if library is None:
        return _ask_nvidia_smi()
    nvml, device = library
    try:
        return Reading(
            float(nvml.device_get_clock_info(device, nvml.ClockType.SM)),
            _power(nvml, device),
            float(nvml.device_get_temperature_v(device, nvml.TemperatureSensors.GPU)),
        )
    except Exception:  # NVML's errors have a type each, and a container may hide any sensor
        return _ask_nvidia_smi()


def _power(nvml: ModuleType, device: int) -> float:
    """Watts at this moment; `device_get_power_usage` is the mean of a second."""
    try:
        values = nvml.FieldValue(1)
        values.field_id = nvml.FieldId.DEV_POWER_INSTANT
        nvml.device_get_field_values(device, values)
        milliwatts = int(values._data["value"]["ui_val"][0])
        if int(values._data["nvml_return"][0]) == 0 and milliwatts:
            return milliwatts / 1000
    except Exception:  # the field is younger than some drivers
        pass
    return float(nvml.device_get_power_usage(device)) / 1000


def _ask_nvidia_smi() -> Reading:
    values = _smi(_QUERY)
    if len(values) != len(_QUERY):
        return _UNKNOWN
    return Reading(*(_number(value) for value in values))


def _smi(query: tuple[str, ...]) -> list[str]:
    """What nvidia-smi answers for the first GPU; nothing where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, "-i", "0", f"--query-gpu={','.join(query)}", "--format=csv,noheader,nounits"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    return [value.strip() for value in process.stdout.strip().split(",")] if process.returncode == 0 else []


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # [N/A]
        return None


def driver_version() -> str:
    """The version of the NVIDIA driver, e.g. ``580.159.04``; empty where nobody says."""
    library = _nvml()
    if library is not None:
        try:
            return str(library[0].system_get_driver_version())
        except Exception:  # as above
            pass
    values = _smi(("driver_version",))
    return values[0] if values else ""


def limits() -> tuple[float | None, float | None]:
    """The highest clock of the SMs in MHz, and the power limit in W.

    >>> limits()   # doctest: +SKIP
    (1980.0, 700.0)
    """
    values = _smi(("clocks.max.sm", "power.limit"))
    if len(values) == 2:
        return _number(values[0]), _number(values[1])
    library = _nvml()
    if library is None:
        return None, None
    nvml, device = library
    try:
        clock = float(nvml.device_get_max_clock_info(device, nvml.ClockType.SM))
        return clock, float(nvml.device_get_power_management_limit(device)) / 1000
    except Exception:  # as above
        return None, None
