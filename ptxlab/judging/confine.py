"""What the process of a candidate is kept from, as far as the system allows. Nothing but Python is imported.

This file runs before NumPy is loaded: only a process of one thread can leave the namespaces of its user.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

_NEW_USER, _NEW_MOUNTS, _NEW_NETWORK, _NEW_PROCESSES = 0x10000000, 0x00020000, 0x40000000, 0x20000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 1 << 18
_MOUNT_SETATTR, _CAPSET = 442, {"x86_64": 126, "aarch64": 91}
_READ_ONLY, _AT_RECURSIVE = 1, 0x8000
_DIE_WITH_PARENT, _DROP_CAPABILITY, _NO_NEW_PRIVILEGES = 1, 24, 38


def confine(settings: dict[str, Any]) -> list[str]:
    """Limit this process; the words for what it is kept from.

    Everywhere: time, by its parent. On POSIX: memory and the size of files. On Linux, where a user may make
    namespaces: the network, all files but its own folder (to write) and the task's (to read), and processes
    that outlive it.
    """
    kept = ["more time"]
    if os.name == "posix":
        import resource

        memory, size = settings["memory"], settings["file_size"]
        for limit, value in (
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_FSIZE, size),
            (resource.RLIMIT_CORE, 0),
        ):
            try:
                resource.setrlimit(limit, (value, value))
            except (ValueError, OSError):
                continue
            kept += {resource.RLIMIT_AS: ["more memory"], resource.RLIMIT_FSIZE: ["large files"]}.get(
                limit, []
            )
    if sys.platform == "linux":
        kept += _namespaces(settings["folder"], settings["unreadable"])
    return kept


def _namespaces(folder: str, unreadable: list[str]) -> list[str]:
    """Leave the namespaces of the user for new ones, and go on as the first process in them."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_NETWORK | _NEW_PROCESSES):
        return []
    kept = ["the network"]
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        try:
            with open(f"/proc/self/{file}", "w") as stream:  # noqa: PTH123
                stream.write(text)
        except OSError:
            pass
    here = folder.encode()
    if not libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None) and not libc.mount(
        here, here, None, _BIND, None
    ):
        for path in unreadable:
            libc.mount(b"none", path.encode(), b"tmpfs", 0, None)
        attributes = (ctypes.c_uint64 * 4)(_READ_ONLY, 0, 0, 0)
        writable = (ctypes.c_uint64 * 4)(0, _READ_ONLY, 0, 0)
        size = ctypes.c_size_t(32)
        if not libc.syscall(_MOUNT_SETATTR, -100, b"/", _AT_RECURSIVE, attributes, size):
            libc.syscall(_MOUNT_SETATTR, -100, here, 0, writable, size)
            kept.append("other files")
    # the child of this process is the first of the new namespace: when it ends, all others there end
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
    libc.prctl(_DIE_WITH_PARENT, 9, 0, 0, 0)
    # through the /proc of outside, the memory of the judge could be read
    if libc.mount(b"proc", b"/proc", b"proc", 0, None):
        libc.mount(b"none", b"/proc", b"tmpfs", _READ_ONLY, None)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0)
    number = _CAPSET.get(os.uname().machine)
    if number is not None:
        libc.syscall(number, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
    return [*kept, "processes that outlive it"]
