"""System calls that no compiler, plan or kernel needs, refused by a filter where libseccomp is there.

ioctl stays, since drivers are spoken to by it.
"""

from __future__ import annotations

import errno
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


@cache
def program() -> bytes:
    """The filter as bubblewrap takes it; empty where there is no libseccomp."""
    library = _library()
    if library is None:
        return b""
    calls = library.SyscallFilter(library.ALLOW)
    for name in REFUSED:
        if library.resolve_syscall(library.system_arch(), name) != -1:  # an older library does not know the newest
            calls.add_rule(library.ERRNO(errno.EPERM), name)
    calls.add_rule(library.ERRNO(errno.EPERM), "clone", library.Arg(0, library.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER))
    calls.add_rule(library.ERRNO(errno.ENOSYS), "clone3")  # its flags lie in memory; libraries then take clone
    with TemporaryFile() as file:
        calls.export_bpf(file)
        file.seek(0)
        return file.read()


def _library() -> ModuleType | None:
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):  # the wheel is there always, the library that it speaks to is not
        return None
    return pyseccomp
