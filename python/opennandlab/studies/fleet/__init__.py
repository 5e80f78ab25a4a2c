"""Many drives of one kind, each a little different, through the same suites.

```text
fleet.yaml ─► devices: index, seed, what each drew ─► a sweep per suite ─► engine, store
                                                                            │
summary: spread, outliers, failures ◄── one row per device and suite ◄──────┘
```
A device is its index: its seed and all it draws follow from the name of the campaign and the index,
so any of them can be run again alone. Points that were run are in a store, and stay known.
"""
