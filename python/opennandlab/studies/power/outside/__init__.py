"""Losses of power of drives outside of this process: served ones, and real ones.

```text
workload ─ writes, trims, flushes ─► disk (NBD, block device)      power switch: socket, commands
   │ log: asked, acknowledged, covered          │ read back twice        │ off ... on
   ▼                                            ▼                        ▼
 judge of the core: what is owed ◄──── records: whose, and which ◄── ready again
```
Nothing is known of the drive but its answers. The guarantees, the classes and the judge are those
of simulated campaigns.
"""
