"""Try a drive that is served over NVMe with a real Linux: a guest of QEMU without KVM.

```text
packages ─► kernel, modules, nvme, mkfs ─► initramfs ─► guest ─ TCP ─► opennandlab serve --nvme
                                                          └─► console ─► checks
```
Usage: `python tools/nvme_guest.py` (QEMU is installed by apt, once, if it may), half a minute and
0.5 GB of memory. Kernel and tools of the guest are unpacked below `target/nvme-guest`;
the guest reaches the loopback of this machine alone. Whatever is missing is named, and the exit
status is then 0: nothing was tried. The exit status is 1 when a check fails.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path("target/nvme-guest")
KERNEL = "linux-image-cloud-amd64"
PACKAGES = ("busybox-static", "nvme-cli", "libnvme1", "e2fsprogs")
LIMIT_S = 300
MODULES = (
    "virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
    "failover", "net_failover", "virtio_net", "nvme-fabrics", "nvme-tcp",
)  # fmt: skip
# Of the guest, each behind the one that it is in.
FOLDERS = (
    "bin", "sbin", "usr", "usr/sbin", "lib", "lib64", "modules", "proc", "sys", "dev", "etc",
    "etc/nvme", "mnt", "tmp",
)  # fmt: skip
HOST_ID = "11111111-2222-4333-8444-555555555555"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/sbin LD_LIBRARY_PATH=/lib
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in {modules}; do insmod /modules/$module.ko; done
ifconfig lo 127.0.0.1; ifconfig eth0 10.0.2.15 netmask 255.255.255.0
echo nqn.2014-08.org.nvmexpress:uuid:{host} > /etc/nvme/hostnqn; echo {host} > /etc/nvme/hostid
try() {{ echo "== $*"; "$@"; echo "rc $?"; }}
try nvme discover -t tcp -a 10.0.2.2 -s {port}
try nvme connect -t tcp -a 10.0.2.2 -s {port} -n {nqn} -g -G
sleep 1
cd tmp
for ask in "id-ctrl /dev/nvme0" "id-ns /dev/nvme0n1" "list-ns /dev/nvme0 --all" \\
  "ns-descs /dev/nvme0n1" "smart-log /dev/nvme0" "error-log /dev/nvme0" "fw-log /dev/nvme0" \\
  "endurance-log -g 1 /dev/nvme0" "ocp smart-add-log /dev/nvme0" "get-feature -f 7 /dev/nvme0"; do
  try nvme $ask > out; grep -q "^rc 0" out || cat out
done
try mkfs.ext4 -q /dev/nvme0n1
try mount -t ext4 /dev/nvme0n1 /mnt
dd if=/dev/urandom of=/mnt/one bs=64k count=400 2> /dev/null; cp /mnt/one /mnt/two
sha256sum < /mnt/one > sum; umount /mnt; echo 3 > /proc/sys/vm/drop_caches
try nvme reset /dev/nvme0
sleep 1
mount -t ext4 /dev/nvme0n1 /mnt
sha256sum < /mnt/one > one; sha256sum < /mnt/two > two
try cmp sum one
try cmp sum two
rm /mnt/one
try fstrim /mnt
umount /mnt
try blkdiscard -o 16777216 -l 4194304 /dev/nvme0n1
dd if=/dev/urandom of=page bs=4096 count=4 2> /dev/null
try nvme write /dev/nvme0n1 -s 100 -c 3 -z 16384 -d page
try nvme compare /dev/nvme0n1 -s 100 -c 3 -z 16384 -d page
try nvme verify /dev/nvme0n1 -s 100 -c 3
try nvme flush /dev/nvme0n1
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n {nqn}
dmesg | grep -i nvme | sed "s/^/kernel: /"
echo "== end"
poweroff -f
"""


def run(*command: object, folder: Path = Path(), libraries: str = "") -> str:
    """Run a program; return what it printed."""
    words = [str(word) for word in command]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries} if libraries else None
    done = subprocess.run(
        words, check=True, text=True, stdout=subprocess.PIPE, timeout=LIMIT_S, cwd=folder,
        env=environment,
    )  # fmt: skip
    return done.stdout


def fetch() -> str | None:
    """Bring QEMU, the kernel and the tools of the guest; return what is missing."""
    if shutil.which("qemu-system-x86_64") is None and os.geteuid() == 0:
        subprocess.run(
            ["apt-get", "install", "-y", "--no-install-recommends", "qemu-system-x86"], check=False
        )
    if shutil.which("qemu-system-x86_64") is None:
        return "qemu-system-x86_64"
    if not list(FOLDER.glob("boot/vmlinuz-*")):
        FOLDER.mkdir(parents=True, exist_ok=True)
        try:
            depends = run("apt-cache", "depends", KERNEL)
            kernel = re.search(r"Depends: (linux-image-\S+)", depends)
            names = [*PACKAGES, kernel[1] if kernel else KERNEL]
            run("apt-get", "download", *names, folder=FOLDER)
            for package in FOLDER.glob("*.deb"):
                run("dpkg", "-x", package, FOLDER)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"packages of Debian ({error})"
    return None


def libraries(*programs: Path) -> dict[str, Path]:
    """Return the shared libraries that programs need, by name."""
    own = {path.name: path for path in FOLDER.glob("usr/lib/*/*.so.*")}
    found: dict[str, Path] = {}
    places = f"{FOLDER}/usr/lib/x86_64-linux-gnu"
    for program in programs:
        for line in run("ldd", program, libraries=places).splitlines():
            path = re.search(r"(/\S+) \(", line)
            if path:
                found[Path(path[1]).name] = own.get(Path(path[1]).name, Path(path[1]))
    return found


def archive(files: dict[str, tuple[int, bytes]]) -> bytes:
    """Return a compressed cpio archive of the form `newc`."""
    content = bytearray()
    for name, (mode, data) in [*files.items(), ("TRAILER!!!", (0, b""))]:
        fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        content += b"070701" + "".join(f"{field:08x}" for field in fields).encode()
        for part in (name.encode() + b"\0", data):
            content += part
            content += b"\0" * (-len(content) % 4)
    return gzip.compress(bytes(content), 1)


def guest(port: str, nqn: str) -> str:
    """Run the guest; return its console."""
    mkfs = next(iter([*FOLDER.glob("sbin/mkfs.ext4"), Path("/sbin/mkfs.ext4")]))
    nvme, busybox = FOLDER / "usr/sbin/nvme", FOLDER / "bin/busybox"
    files = dict.fromkeys(FOLDERS, (0o40755, b""))
    program = 0o100755
    for name, path in (("usr/sbin/nvme", nvme), ("sbin/mkfs.ext4", mkfs), ("bin/busybox", busybox)):
        files[name] = (program, path.read_bytes())
    for name, path in libraries(nvme, mkfs).items():
        place = "lib64" if name.startswith("ld-linux") else "lib"
        files[f"{place}/{name}"] = (program, path.read_bytes())
    for module in MODULES:
        path = next((FOLDER / "lib/modules").rglob(f"{module}.ko"))
        files[f"modules/{module}.ko"] = (program, path.read_bytes())
    text = INIT.format(modules=" ".join(MODULES), host=HOST_ID, port=port, nqn=nqn)
    files["init"] = (program, text.encode())
    initramfs, console = FOLDER / "initramfs.gz", FOLDER / "console.log"
    initramfs.write_bytes(archive(files))
    console.write_text("")
    kernel = next(FOLDER.glob("boot/vmlinuz-*"))
    run(
        "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "512", "-smp", "2",
        "-display", "none", "-nodefaults", "-no-reboot", "-serial", f"file:{console}",
        "-kernel", kernel, "-initrd", initramfs, "-append", "console=ttyS0 quiet panic=1",
        "-netdev", "user,id=n0", "-device", "virtio-net-pci,netdev=n0,romfile=",
    )  # fmt: skip
    return console.read_text(errors="replace").replace("\r", "")


def findings(console: str, served: dict[str, dict[str, int]]) -> list[str]:
    """Return what is not as it should be."""
    found = [
        f"{tried.splitlines()[0]}: {tried}"
        for tried in console.split("== ")[1:]
        if re.search(r"^rc [^0]", tried, re.MULTILINE)
    ]
    if "== end" not in console:
        found.append("the guest did not come to its end")
    complaint = r"^kernel: .*(?:warn|error|fail|bug|refus|timeout).*"
    found += re.findall(complaint, console, re.MULTILINE | re.IGNORECASE)
    smart = re.search(r"^\{.*?^\}", console, re.MULTILINE | re.DOTALL)
    drive = served["drive"]
    if smart is None:
        found.append("no log of health")
    else:
        log = json.loads(smart[0])
        for name, bytes_ in (("read", drive["read_bytes"]), ("written", drive["written_bytes"])):
            # A string in nvme-cli 2.3.
            if int(log[f"data_units_{name}"]) != -(-bytes_ // 512_000):
                found.append(f"data units {name}: {log[f'data_units_{name}']}, {bytes_} bytes")
    media = re.search(r"units written -\s+0 (\d+)", console)
    if media is None or int(media[1]) != drive["programmed_bytes"]:
        found.append(f"log C0h: {media and media[1]}, {drive['programmed_bytes']} programmed")
    return found


def main() -> int:
    """Serve a drive, run the guest, and say what it found."""
    missing = fetch()
    if missing is not None:
        print(f"nvme guest: not tried, {missing} cannot be had here")
        return 0
    result = FOLDER / "served.json"
    command = [
        sys.executable, "-m", "opennandlab", "serve", "--config", "tlc_standard",
        "--set", "nand.blocks_per_plane=64", "--nvme", "127.0.0.1:0", "--result", str(result),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        line = server.stdout.readline() if server.stdout else ""
        ready = re.fullmatch(r"ready nvme\+tcp://127\.0\.0\.1:(\d+)/(\S+)\n", line)
        try:
            console = guest(ready[1], ready[2]) if ready else ""
        finally:
            server.terminate()
    found = findings(console, json.loads(result.read_text()))
    for line in found or ["a real Linux found nothing wrong"]:
        print(f"nvme guest: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
