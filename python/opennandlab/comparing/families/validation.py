"""What `validate` found: the error of each case against its tolerance, such as of two versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.comparing.model import Family, Finding, Number, differing, remarks
from opennandlab.documents.record import JsonObject, read
from opennandlab.documents.validation import CaseRow, ValidationDocument


class Validations(Family):
    """Documents of `validate`."""

    name = "a document of `validate`"
    kinds = (ValidationDocument,)

    def opened(self, document: JsonObject, name: str) -> ValidationDocument:
        """Return the record."""
        del name
        return read(document, ValidationDocument)[0]

    def numbers(self, document: ValidationDocument) -> dict[str, Number]:
        """Return counts, then the error of each case; its means are not shown."""
        found = {
            "case_count": Number(document.case_count, "Cases", is_main=True),
            "known_miss_count": Number(
                document.known_miss_count, "Known misses", "lower", is_main=True
            ),
            "failed_count": Number(document.failed_count, "Cases failed", "lower", is_main=True),
        }
        for row in document.rows:
            path, label = f"{row.suite}.{row.case}", f"{row.suite}: {row.case}"
            error = None if row.error is None else float(row.error)
            found[f"{path}.error"] = Number(error, f"{label}, error", "lower", is_main=True)
            found[f"{path}.measured"] = _measured(row, f"{label}, measured")
        return found

    def objections(self, documents: Sequence[ValidationDocument]) -> Iterator[Finding]:
        """Yield cases of one name that claim something else."""
        claims = [{(row.suite, row.case): _claim(row) for row in one.rows} for one in documents]
        for key in claims[0]:
            others = [one.get(key, claims[0][key]) for one in claims]
            yield from differing(f"claims of {'/'.join(key)}", others, [it[2] for it in others])

    def doubts(self, documents: Sequence[ValidationDocument]) -> Iterator[Finding]:
        """Yield documents that were cut, or that did not run the same cases."""
        partial = [bool(one.partial) for one in documents]
        yield from remarks("{}: partial, the run was interrupted", partial)
        cases = [{(row.suite, row.case) for row in one.rows} for one in documents]
        yield from differing("cases", cases, [str(len(one)) for one in cases])


FAMILY = Validations()


def _claim(row: CaseRow) -> tuple[str, str, str]:
    expected = "nothing" if row.expected is None else f"{row.expected:.6g}"
    return row.quantity, row.relation, f"{row.quantity} {row.relation} {expected}"


def _measured(row: CaseRow, label: str) -> Number:
    """Return the mean over the seeds, with least and greatest."""
    values = [float(value) for value in row.measured if value is not None]
    if not values:
        return Number(None, label)
    return Number(sum(values) / len(values), label, None, min(values), max(values))
