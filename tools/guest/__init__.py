"""A real Linux as the host of a drive that is served over NVMe: a guest of QEMU, without KVM.

```text
parts    packages ─► kernel, modules, programs
image    programs, modules, a script ─► initramfs
machine  initramfs ─► guest ─ TCP ─► opennandlab serve --nvme
bench    what a scenario is given; what is wrong on a console
```
A scenario is a file of `scenarios/` with a function `scenario(bench) -> list[str]`, which returns
what is wrong; its name is the file's, and the first line of its docstring says what it tries.
"""
