"""Device and workload files of other simulators, translated key by key.

```text
files ──► reader ──► Entry: name, text, place       xml_text  femu  nvmevirt  simplessd
                       │    Field: unit, type, default there   a table per simulator
                       │    Rule: our key, how, class, note    a table per simulator
                       ▼
                     Row: nothing vanishes          table
                       └──► YAML with origins, checked by the core   writing
```
The report and the YAML file are both made from the two tables. Each table names the version of the
simulator from whose source it was read.
"""
