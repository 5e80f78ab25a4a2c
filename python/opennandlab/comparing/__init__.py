"""Comparing honestly: any number of documents of one family, like with like, or not at all.

```text
files, keys of a store ──opening──► Subject { name, source, document }     (naming: short names)
subjects ──families──► Number by path, objections, doubts        one file and one row per family
         ──side──────► Comparison                                the document; rows: best and worst
Comparison ──layout──► lines of a terminal      ──page──► HTML      ──sheet──► CSV
```
A family says which numbers a document has, which way each is better, and what must not be compared;
everything else is the same for all. `force` compares different things nevertheless and keeps the
objection in the output.
"""

from opennandlab.comparing.model import UnlikeError
from opennandlab.comparing.side import compare, side_by_side

__all__ = ["UnlikeError", "compare", "side_by_side"]
