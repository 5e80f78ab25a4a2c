"""Outputs of fio (JSON and JSON+ of every version since 2.0.10), read by one parser.

```text
file ──text──► documents ──record──► counts, times in ns, options ──jobs──► cells
                                                          options, checks ──┘
```
`record` knows the versions and is what our own target of fio reads with too; the rest makes cells
of what others measured.
"""
