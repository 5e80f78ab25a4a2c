"""The first file system of the guest: programs with their libraries, modules, a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guest import parts

# For networks and NVMe over TCP, each behind those that it needs.
MODULES = (
    "virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
    "failover", "net_failover", "virtio_net", "nvme-fabrics", "nvme-tcp",
)  # fmt: skip
# Of the guest, each behind the one that it is in.
FOLDERS = (
    "bin", "sbin", "lib", "lib64", "modules", "proc", "sys", "dev", "etc", "etc/nvme", "mnt",
    "tmp", "root",
)  # fmt: skip
HOST_ID = "11111111-2222-4333-8444-555555555555"
IS_FOLDER, IS_PROGRAM = 0o40755, 0o100755
# What each script has: `try` says what a command ends with, `quiet` drops what it prints unless it
# fails, `connect` waits for the first disk, `send` sends a file to `bench.sent`, `skip` ends the
# guest with a reason, `say` and `hear` speak with `Guest.wait_for` and `Guest.say`.
# Of the kernel, what concerns drives; that a busy machine is late for a timer (MP-BIOS) does not.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin LD_LIBRARY_PATH=/lib HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in @MODULES@; do insmod /modules/$module.ko; done
ifconfig lo 127.0.0.1; ifconfig eth0 10.0.2.15 netmask 255.255.255.0
echo nqn.2014-08.org.nvmexpress:uuid:@HOST@ > /etc/nvme/hostnqn; echo @HOST@ > /etc/nvme/hostid
@SETTINGS@
say() { echo "== $*"; }
hear() { read -r heard < /dev/ttyS0; }
try() { say "$*"; "$@"; echo "rc $?"; }
quiet() { say "$*"; "$@" > out 2>&1; ended=$?; [ $ended = 0 ] || cat out; echo "rc $ended"; }
disk() { for _ in $(seq 60); do [ -b $1 ] && break; sleep 0.5; done; }
connect() { try nvme connect -t tcp -a $ADDRESS -s $PORT -n $NQN "$@"; disk /dev/nvme0n1; }
finish() {
  dmesg | grep -v MP-BIOS | grep -iE "nvme|ext4|i/o error|call trace|bug:|hung" |
    sed "s/^/kernel: /"
  say end; poweroff -f
}
send() { [ -f $1 ] || return; say "send ${1##*/}"; gzip -9 < $1 | base64; say sent; }
skip() { say "skip $*"; finish; }
cd /tmp
@SCRIPT@
finish
"""


def archive(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """Return a cpio archive of the form `newc`."""
    content = bytearray()
    for name, (mode, data) in [*files.items(), ("TRAILER!!!", (0, b""))]:
        fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        content += b"070701" + "".join(f"{field:08x}" for field in fields).encode()
        for part in (name.encode() + b"\0", data):
            content += part
            content += b"\0" * (-len(content) % 4)
    return bytes(content)


def initramfs(
    script: str,
    settings: Mapping[str, object],
    programs: Sequence[str] = (),
    modules: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
) -> bytes:
    """Return the first file system.

    Args:
        script: Lines of the shell, carried out when the network is up.
        settings: Variables of the shell, by name.
        programs: By name, besides busybox and nvme.
        modules: By name, besides those of NVMe over TCP, each behind those that it needs.
        files: More files, by their path without a slash before it.

    Raises:
        Skipped: when a program or a module cannot be had.
    """
    held = dict.fromkeys(FOLDERS, (IS_FOLDER, b""))
    found = {name: parts.program(name) for name in ("nvme", *programs)}
    held["bin/busybox"] = (IS_PROGRAM, parts.program("busybox").read_bytes())
    for name, path in found.items():
        held[f"sbin/{name}"] = (IS_PROGRAM, path.read_bytes())
    for name, path in parts.libraries(*found.values()).items():
        place = "lib64" if name.startswith("ld-linux") else "lib"
        held[f"{place}/{name}"] = (IS_PROGRAM, path.read_bytes())
    for name in (*MODULES, *modules):
        held[f"modules/{name}.ko"] = (IS_PROGRAM, parts.module(name).read_bytes())
    for name, data in (files or {}).items():
        held[name] = (IS_PROGRAM, data)
    text = INIT.replace("@MODULES@", " ".join((*MODULES, *modules))).replace("@HOST@", HOST_ID)
    text = text.replace(
        "@SETTINGS@", "; ".join(f"{key}='{value}'" for key, value in settings.items())
    )
    held["init"] = (IS_PROGRAM, text.replace("@SCRIPT@", script).encode())
    return archive(held)
