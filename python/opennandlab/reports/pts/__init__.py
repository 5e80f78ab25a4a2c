"""Reports of the standard tests, made from their documents alone; they never run anything.

```text
file ──► source (what is there, what is missing) ──► views (one module per test) ──► Report
Report ──► html (interactive, one file) | pdf (matplotlib) | csv (a file per table)
```
A new test gets a module with `sections(measured)` and a row in `views.VIEWS`; its smallest example
is `throughput`. A new kind of drawing gets a class in `model` and a function in each renderer.
"""
