"""`ptxlab.simulating`: a context in which launches of other frameworks run on the simulator."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple

from .._util.arguments import as_flag, as_int, as_text
from .._util.interrupts import delayed
from ..errors import PtxlabError, listing, quoted
from ..isa.chips import Card
from ..isa.targets import CARD_NAMES, CHIPS, chip_number, find_card_name
from ..simulator import Result
from ..simulator.debug import DebugSession
from ..simulator.events import Observer
from ..simulator.kernel import Kernel, as_check
from ..simulator.launch_record import LaunchRecord
from ..simulator.peaks import PEAKS
from ..simulator.timing.launch_profile import LaunchProfile
from .frameworks import adapters_in_use
from .host_arrays import launch_arguments

_SESSIONS: list[Session] = []  # the open ones, the newest last
_RESTORERS: dict[str, Callable[[], None]] = {}  # by framework: undoes the changes of its adapter
#: Held while attributes of frameworks are changed, for a session or for a compilation: each change is undone
#: in a state in which no other has been made since.
CHANGING = threading.RLock()
_ABSENT = object()
#: The offset of `tp_call` in a class: after the header of an object there are its size and 13 fields.
_CALL = object.__basicsize__ + 14 * ctypes.sizeof(ctypes.c_void_p)


class Session:
    """A context in which launches run on the simulator; `results` has the result of each, in their order.

    Kernels are compiled for `target`, e.g. "sm_90a"; if launches are `profiled`, `profiles` has the predicted
    time of each.
    """

    def __init__(
        self,
        chip: str,
        check: bool | str = True,
        show: bool | None = None,
        trace: bool | int = False,
        profile: bool = False,
        debug: bool = False,
    ) -> None:
        self.target, self.chip = _target_and_chip(as_text(chip, "chip"))
        self.results: list[Result] = []
        self.profiled = as_flag(profile, "profile")
        self.profiles: list[LaunchProfile] = []
        self._check = as_check(check)
        self._show = None if show is None else as_flag(show, "show")
        self._trace = trace if isinstance(trace, bool) else as_int(trace, "trace")
        if self._trace < 0:
            raise PtxlabError(f"trace={quoted(trace)}: warps of a launch are counted from 0 on")
        self._record = LaunchRecord() if as_flag(debug, "debug") else None
        self._thread = 0
        #: For adapters to keep compiled kernels and the like in, as long as the session lasts.
        self.adapter_cache: dict[object, Any] = {}

    @property
    def capability(self) -> tuple[int, int]:
        """The chip's compute capability.

        >>> Session("H200").capability, Session("B200").capability
        ((9, 0), (10, 0))
        """
        return divmod(chip_number(self.target), 10)

    @property
    def peaks(self) -> Card:
        """The chip's figures; those of an H200 if they are not known."""
        return PEAKS.get(self.chip, PEAKS["H200"])

    def __repr__(self) -> str:
        noun = "launch" if len(self.results) == 1 else "launches"
        return f"<{len(self.results)} {noun} simulated for {self.chip}>"

    def __enter__(self) -> Session:
        self._thread = threading.get_ident()
        try:
            with delayed(), CHANGING:
                # first: garbage that is collected now may end the last of the other sessions
                _SESSIONS.append(self)
                if self._record is not None:
                    self._record.open()
                for name, adapter in adapters_in_use().items():
                    if name not in _RESTORERS:
                        with version_errors(name):
                            _RESTORERS[name] = import_module(f".{adapter}", __package__).install()
        except BaseException:  # including an interrupt, which `delayed` raises
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        with delayed(), CHANGING:
            if self in _SESSIONS:
                _SESSIONS.remove(self)
            if self._record is not None:
                self._record.close()
            if not _SESSIONS:
                _restore_all()

    def debug(self, index: int = 0) -> DebugSession:
        """Step through a launch of the context, by its number, forwards and backwards.

        The context was opened with ``debug=True``, and the arrays are copies: they hold what they held before
        the launch.
        """
        if self._record is None:
            raise PtxlabError("no launch was kept: open the context with ptxlab.simulating(debug=True)")
        return self._record.debug(as_int(index, "index"))

    def simulate(
        self,
        kernel: Kernel,
        grid: tuple[int, ...],
        block: int | tuple[int, ...],
        arguments: list[object],
        shared: int,
        cluster: int | tuple[int, ...] | None = None,
        observers: Sequence[Observer] = (),
    ) -> Result:
        """Run a launch whose arrays are NumPy's, and add its result to `results`."""
        values = launch_arguments(arguments)
        if self.profiled:
            profile = kernel.profile(grid, block, *values, shared=shared, cluster=cluster, chip=self.chip)
            self.profiles.append(profile)
        result = kernel.simulate(
            grid,
            block,
            *values,
            shared=shared,
            cluster=cluster,
            observers=observers,
            check=self._check,
            show=self._show,
            trace=self._trace,
        )
        self.results.append(result)
        return result


@contextmanager
def version_errors(framework: str) -> Iterator[None]:
    """Turn errors of an adapter that does not fit its framework's version into one sentence."""
    try:
        yield
    except PtxlabError:
        raise
    except Exception as error:  # from the framework's code, or from something that only looks like it
        module = sys.modules.get(framework.partition(".")[0])
        version = quoted(getattr(module, "__version__", "of a version that it does not say"))
        reason = quoted(f"{type(error).__name__}: {error}", 120)
        raise PtxlabError(
            f"{framework} {version}: ptxlab does not know this version, which lacks what it builds on "
            f"({reason}); other-compilers.md of the guide says which versions were tried"
        ) from error


Former = Callable[..., Any]  # what a patch replaces


class Patch(NamedTuple):
    """An attribute of a framework that an adapter replaces as long as a session is open.

    A function made by `in_session` gets what it replaces. An attribute that only some `versions` have is left
    out where it is missing; one that is `added` the owner inherits or lacks.
    """

    owner: Any
    name: str
    replacement: Any
    why: str
    versions: str = ""
    added: bool = False


def in_session(function: Callable[..., Any]) -> Callable[[Former], Callable[..., Any]]:
    """A replacement of a function, as `function(session, former, ...)`; without a session the former runs.

    >>> def doubled(session, former, number):
    ...     return 2 * former(number)
    >>> in_session(doubled)(abs)(-3)
    3
    """

    def around(former: Former) -> Callable[..., Any]:
        def replacement(*arguments: Any, **named: Any) -> Any:
            session = current_session()
            if session is None:
                return former(*arguments, **named)
            return function(session, former, *arguments, **named)

        return replacement

    around.in_session = True  # type: ignore[attr-defined]
    return around


def _restore_all() -> None:
    """Undo what adapters have changed, the last first; the error of one does not keep others from it."""
    with ExitStack() as restorers:
        for restore in _RESTORERS.values():
            restorers.callback(restore)
        _RESTORERS.clear()


def install_patches(
    framework: str, tried: str, patches: Sequence[Patch], called: Sequence[tuple[Any, str]] = ()
) -> Callable[[], None]:
    """Replace attributes of a framework; returns a function that restores them.

    The version `tried` has all of them, and those that the adapter has `called`.
    """
    needed = [(patch.owner, patch.name) for patch in patches if not (patch.versions or patch.added)]
    missing = [name for owner, name in (*needed, *called) if not hasattr(owner, name)]
    if missing:
        raise PtxlabError(f"{framework} has no {listing(missing)}; ptxlab.simulating was tried with {tried}")
    present = [patch for patch in patches if patch.added or hasattr(patch.owner, patch.name)]
    rows = [(patch.owner, patch.name, _replacement(patch)) for patch in present]
    return replace_attributes(
        [row for row, patch in zip(rows, present, strict=True) if not patch.added],
        [row for row, patch in zip(rows, present, strict=True) if patch.added],
    )


def _replacement(patch: Patch) -> Any:
    if not getattr(patch.replacement, "in_session", False):
        return patch.replacement
    former = getattr(patch.owner, patch.name)
    if isinstance(former, property):
        return property(patch.replacement(former.fget), former.fset, former.fdel)
    return patch.replacement(former)


def patches_of_importers(former: object, replacement: Any, why: str) -> list[Patch]:
    """A row for every module that has a function under any name, as after `from warp import launch`."""
    return [
        Patch(module, name, replacement, why)
        for module in list(sys.modules.values())
        for name, value in list(getattr(module, "__dict__", {}).items())
        if value is former
    ]


def replace_attributes(
    changes: Sequence[tuple[Any, str, Any]], added: Sequence[tuple[Any, str, Any]] = ()
) -> Callable[[], None]:
    """Replace attributes, given as owner, name and value; returns a function that restores them.

    Attributes that are `added` an owner may inherit or lack, and then does so again.
    """
    before: list[tuple[Any, str, Any, int]] = []

    def restore() -> None:
        with CHANGING:
            while before:
                _set(*before[-1])
                before.pop()

    with CHANGING:
        try:
            for number, (owner, name, value) in enumerate((*changes, *added)):
                is_change = number < len(changes)
                former = owner.__dict__[name] if is_change else owner.__dict__.get(name, _ABSENT)
                before.append((owner, name, former, _call_slot(owner, name)))
                _set(owner, name, value, _call_slot(type("Python", (), {name: value}), name))
        except BaseException:
            restore()
            raise
    return restore


@contextmanager
def attributes_replaced(changes: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Replace attributes inside the block, during which no other thread replaces or restores any."""
    with CHANGING:
        restore = replace_attributes(changes)
        try:
            yield
        finally:
            restore()


def _set(owner: Any, name: str, value: Any, slot: int) -> None:
    """Set an attribute, also of an extension class, which takes none: its dictionary is written instead.

    Only CuPy's `RawKernel` and `RawModule` need that, because Cython compiles them. A call of a `RawKernel`
    does not look up `__call__`. It goes to the field `tp_call` of the class, a PyTypeObject of CPython, so
    that field becomes `slot`: the function that looks up `__call__`, or the former value. Subclasses without
    a `__call__` of their own get it as well.
    """
    try:
        if value is _ABSENT:
            if name in owner.__dict__:
                delattr(owner, name)
        else:
            setattr(owner, name, value)
    except TypeError:
        if not _is_cpython():
            raise
        (attributes,) = gc.get_referents(owner.__dict__)
        attributes[name] = value
        classes = [owner] if slot else []
        while classes:
            current = classes.pop()
            ctypes.c_size_t.from_address(id(current) + _CALL).value = slot
            classes += (kind for kind in current.__subclasses__() if name not in kind.__dict__)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def _call_slot(owner: object, name: str) -> int:
    """The `tp_call` of a class, if the attribute is `__call__`; otherwise 0."""
    if name != "__call__" or not isinstance(owner, type) or not _is_cpython():
        return 0
    return ctypes.c_size_t.from_address(id(owner) + _CALL).value


@lru_cache
def _is_cpython() -> bool:
    """Whether `_CALL` is right for this interpreter: only classes with `__call__` have a value there.

    >>> _is_cpython()
    True
    """
    if sys.implementation.name != "cpython":
        return False
    classes = type("One", (), {"__call__": len}), type("Other", (), {"__call__": repr}), type("Plain", (), {})
    one, other, plain = (ctypes.c_size_t.from_address(id(sample) + _CALL).value for sample in classes)
    return one == other != 0 and plain == 0


def current_session() -> Session | None:
    """The session that the calling thread opened last; in a thread that opened none, the newest."""
    sessions, thread = _SESSIONS.copy(), threading.get_ident()  # others may open and close some meanwhile
    own = (session for session in reversed(sessions) if session._thread == thread)
    return next(own, sessions[-1] if sessions else None)


def open_session(done: str) -> Session:
    """The session for a kernel that the framework has, e.g., "compiled" (`done`) inside of one."""
    session = current_session()
    if session is None:
        raise PtxlabError(
            f"this kernel was {done} inside ptxlab.simulating(), which is over: launch it inside again, or "
            "compile it anew for a GPU"
        )
    return session


def _target_and_chip(chip: str) -> tuple[str, str]:
    """The target of a card, or that target itself, and its name as NVIDIA writes it.

    >>> _target_and_chip("rtx 4090"), _target_and_chip("sm_90a")
    (('sm_89', 'RTX 4090'), ('sm_90a', 'sm_90a'))
    """
    target_and_name = (chip, chip) if chip in CARD_NAMES else find_card_name(chip)
    if target_and_name is not None:
        return target_and_name
    names = tuple(name for target in CHIPS.values() for name in CARD_NAMES.get(target, ()))
    raise PtxlabError(f"chip={quoted(chip)}: there are {listing(names)}")
