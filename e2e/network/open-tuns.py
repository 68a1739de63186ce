# open-tuns.py PROGRAM [ARGUMENTS]: PROGRAM in a new network namespace, joined to this one by IP packets.
#
# The descriptors of two TUN devices follow the arguments: of "near", in the namespace that this
# program was started in, and of "far", in the new one. Node has no ioctl and no unshare.

import ctypes
import fcntl
import os
import struct
import sys

TUNSETIFF = 0x400454CA  # linux/if_tun.h
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000  # linux/sched.h


def open_tun(name):
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    os.set_inheritable(descriptor, True)
    return str(descriptor)


near = open_tun("near")
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(CLONE_NEWNET) != 0:
    raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))
far = open_tun("far")
os.execv(sys.argv[1], [*sys.argv[1:], near, far])
