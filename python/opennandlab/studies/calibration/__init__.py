"""Fits keys of a device file to what was measured, and says which of them the data determine.

```text
measured document ──cells──► figures, some held out ─┐
device file, keys ──keys──► bounds, scales ──────────┼─► search ──► best values
                                                     │     │ runs of the device: objective, journal
                                                     └─► sensitivity ──► which keys are known
best values ──filing──► device file with provenance       calibrating ──► opennandlab.calibration/1
```
"""

from opennandlab.studies.calibration.calibrating import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
