"""`replay`: a recorded block trace on a device."""
import typer
def replay() -> None:
    """Stub until the trace readers land."""
