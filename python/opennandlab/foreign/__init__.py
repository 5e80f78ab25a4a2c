"""Device and workload files of other simulators, translated key by key.

```text
files ──► reader ──► Entry: name, text, place          mqsim  femu  nvmevirt  simplessd
                       │    a line of tables/NAME.tsv    unit, accepted, default, our key, how, note
                       ▼    functions of the module      computed values
                     Row: nothing vanishes               table
                       └──► YAML with origins, checked by the core   conversion, converting
```
The report and the YAML file are both made from the tables. Each names the version of the simulator
from whose source it was read.
"""
