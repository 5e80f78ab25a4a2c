"""Figures that others measured, as documents of a standard test.

```text
fio JSON, JSON+ ──fio──┐
CSV tables ───────csv──┼──► Cell { block, mix, figures } ──document──► opennandlab.pts/1
reference tables ──────┘                                     header.imported states where from
documents of another place ──own──────────────────────────►
```
An imported document says less than one that was measured here: what the origin does not tell is
named in `header.imported.unknown`, and no figure is made up for it. Everything that reads documents
of standard tests takes it.
"""

from opennandlab.measured.importing import import_files
from opennandlab.measured.published import reference, references

__all__ = ["import_files", "reference", "references"]
