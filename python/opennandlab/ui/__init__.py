"""The store of runs in a browser: a small server on the loopback address, and its pages.

```text
browser ──► guard ──► application ──► screens: runs, sweep, plot, compare, run, new run
              │            │
   Host, Origin, token,    ├─► watching   store changed? ──► events (SSE) ──► the page
   CSRF, headers           └─► jobs       one worker process at a time, which writes the store
```
Pages are made here; scripts only renew parts of them and draw figures. Nothing is read but the
store and the package, and nothing is written but by workers.
"""
