"""Drives, runs and their results: what `opennandlab` is when it is imported.

```text
config ──► run ──► slices (the loop, progress, Ctrl-C) ──► result ──► images, verification
```
"""
