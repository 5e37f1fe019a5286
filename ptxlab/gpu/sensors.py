"""Clock, power and temperature of the GPU, as its driver reports them (NVML, or `nvidia-smi`)."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

from .cuda_python import load

_POLL_INTERVAL = 0.0005  # seconds between two checks whether the GPU is done
_SENSOR_INTERVAL = 0.02  # seconds between two readings of the sensors
_SETTLING = 0.045  # seconds until a sample of power covers only this work
_GPU_CORE = 0  # NVML_TEMPERATURE_GPU, whose name differs between versions of cuda-bindings
_QUERY = ("clocks.sm", "power.draw.instant", "temperature.gpu")


@dataclass(frozen=True)
class Reading:
    """A reading of the sensors; None for what the driver does not report.

    >>> Reading(1755.0, 698.2, 61.0).power
    698.2
    """

    clock: float | None  # of the SMs, MHz
    power: float | None  # W
    temperature: float | None  # degrees Celsius


_UNKNOWN = Reading(None, None, None)


@dataclass
class SensorWatch:
    """Power and temperature while the GPU works.

    The driver keeps samples of power, one every 20 ms; the first ones of a run include earlier work.

    >>> watch = SensorWatch()
    >>> watch.follow(lambda: True)   # nothing to wait for
    >>> watch.power is None
    True
    """

    power: float | None = None  # W
    temperature: float | None = None  # degrees Celsius

    def follow(self, done: Callable[[], bool]) -> None:
        """Read the sensors until the work is done."""
        begin = time.time()
        last_read = 0.0
        while not done():
            if time.time() - last_read > _SENSOR_INTERVAL:
                reading, last_read = read_sensors(), time.time()
                self.power, self.temperature = reading.power, reading.temperature
            time.sleep(_POLL_INTERVAL)
        samples = power_samples(begin + _SETTLING, time.time())
        if samples:
            self.power = sum(samples) / len(samples)


@lru_cache(maxsize=1)
def _nvml() -> tuple[ModuleType, int] | None:
    """NVML and the handle of the first GPU; None if there is none."""
    try:
        nvml = load("cuda.bindings.nvml")
        nvml.init_v2()
        return nvml, nvml.device_get_handle_by_index_v2(0)
    except Exception:  # several types: an old cuda-bindings, a container without NVML, no driver
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
            float(nvml.device_get_temperature_v(device, nvml.TemperatureSensors(_GPU_CORE))),
        )
    except Exception:  # NVML has many types of errors, and a container may hide any sensor
        return _ask_nvidia_smi()


def _power(nvml: ModuleType, device: int) -> float:
    """Watts now; `device_get_power_usage` is the mean of a second."""
    try:
        values = nvml.FieldValue(1)
        values.field_id = nvml.FieldId.DEV_POWER_INSTANT
        nvml.device_get_field_values(device, values)
        milliwatts = int(values._data["value"]["ui_val"][0])
        if int(values._data["nvml_return"][0]) == 0 and milliwatts:
            return milliwatts / 1000
    except Exception:  # older drivers lack the field
        pass
    return float(nvml.device_get_power_usage(device)) / 1000


def power_samples(begin: float, end: float) -> list[float]:
    """The driver's samples of power, in W, between two times of this computer's clock; about one in 20 ms."""
    library = _nvml()
    if library is None:
        return []
    nvml, device = library
    try:
        kind = nvml.SamplingType.TOTAL_POWER_SAMPLES
        _, samples = nvml.device_get_samples(device, kind, int(begin * 1e6))
        pairs = [
            (int(sample.time_stamp), int(sample._data["sample_value"]["ui_val"][0])) for sample in samples
        ]
    except Exception:  # as above; also where there are no new samples
        return []
    return [milliwatts / 1000 for stamp, milliwatts in pairs if begin * 1e6 < stamp <= end * 1e6]


def _ask_nvidia_smi() -> Reading:
    values = _smi(_QUERY)
    if len(values) != len(_QUERY):
        return _UNKNOWN
    return Reading(*(_number(value) for value in values))


def _smi(query: tuple[str, ...]) -> list[str]:
    """nvidia-smi's values for the first GPU; empty if there is none."""
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
    """The version of the NVIDIA driver, e.g. ``580.159.04``; empty if it is not known."""
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
