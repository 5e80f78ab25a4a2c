"""Device and workload files of other simulators, translated key by key.

```text
files ──► reader ──► Entry: name, text, place       xml_text  femu  nvmevirt  simplessd
                       │    Field: unit, type, default there   a table per simulator
                       │    Rule: our key, how, class, note    a table per simulator
                       ▼
                     Row: nothing vanishes          table
                       └──► YAML with origins, checked by the core   writing
```
The two tables say everything: what the report says and what the YAML file holds are both read from
them. Each table names the version of the simulator whose source it was read from.
"""
