"""Fits keys of a device file to the measurement, and states which of them the data determine.

```text
documents, CSV ──cells, tables──► figures, some held out ─┐
device file, keys ──keys──► bounds, scales, choices ──────┼─► for each choice: stages, search
                       runs of the device: objective,     │      │
                       loads, journal                     └──► posterior, sensitivity
best values ──filing──► device file with provenance   telling ──► opennandlab.calibration/2
```
"""

from opennandlab.studies.calibration.calibrating import calibrate
from opennandlab.studies.calibration.planning import Calibration

__all__ = ["Calibration", "calibrate"]
