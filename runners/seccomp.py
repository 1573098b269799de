"""System calls that no compiler, plan or kernel needs, refused by a filter where libseccomp is there.

ioctl stays, since drivers are spoken to by it. Sockets are refused by family, since not every family is divided by network
namespaces: a virtual machine's AF_VSOCK reaches its host from any.
"""

from __future__ import annotations

import errno
import socket
from functools import cache
from tempfile import TemporaryFile
from types import ModuleType

CLONE_NEWUSER = 0x10000000
REMEDY = "apt-get install libseccomp2"
REFUSED = (  # debuggers, keys, kernel programs, mounts, namespaces, modules, rings that no filter sees into, the machine itself
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "perf_event_open", "userfaultfd"),
    *("keyctl", "add_key", "request_key", "bpf", "unshare", "setns", "chroot", "pivot_root", "mount", "umount2", "move_mount"),
    *("mount_setattr", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "open_by_handle_at", "name_to_handle_at"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "reboot", "swapon", "swapoff", "acct", "syslog", "quotactl"),
)
# Memory that is no process's own, which only a control group counts. Drivers of cards may want some of it.
HOARDS = ("memfd_create", "memfd_secret", "shmget", "msgget", "mq_open", "socket", "socketpair")
FAMILIES = frozenset({socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK})  # all that a network namespace divides


@cache
def program(card: bool = False) -> bytes:
    """The filter as bubblewrap takes it, for a process that sees a card or none; empty where there is no libseccomp."""
    library = _library()
    if library is None:
        return b""
    calls = library.SyscallFilter(library.ALLOW)
    for name in REFUSED if card else (*REFUSED, *HOARDS):
        if library.resolve_syscall(library.system_arch(), name) != -1:  # an older library does not know the newest
            calls.add_rule(library.ERRNO(errno.EPERM), name)
    calls.add_rule(library.ERRNO(errno.EPERM), "clone", library.Arg(0, library.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER))
    calls.add_rule(library.ERRNO(errno.ENOSYS), "clone3")  # its flags lie in memory; libraries then take clone
    for unlike in _other_families(library) if card else ():
        calls.add_rule(library.ERRNO(errno.EAFNOSUPPORT), "socket", unlike)
    with TemporaryFile() as file:
        calls.export_bpf(file)
        file.seek(0)
        return file.read()


def _other_families(library: ModuleType) -> list[object]:
    """Conditions that one of holds for any family of sockets but FAMILIES."""
    last = max(FAMILIES)
    return [library.Arg(0, library.GT, last), *(library.Arg(0, library.EQ, n) for n in range(last) if n not in FAMILIES)]


def _library() -> ModuleType | None:
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):  # the wheel is there always, the library that it speaks to is not
        return None
    return pyseccomp
