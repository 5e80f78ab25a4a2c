"""`validate`: recompute every ground-truth row, formula and simulation side by side."""
import typer
def validate() -> None:
    """Stub until the package lands."""
