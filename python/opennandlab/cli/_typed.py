"""What the user of a command typed: what it names, and what device files of his name, may run."""

import contextlib
from pathlib import Path

import typer


def typed(context: typer.Context, value: str | None) -> str | None:
    """Take a name that stands in an option; a file under that name is not looked into."""
    if value is not None and not context.resilient_parsing:
        from opennandlab.policies.source import trust

        trust([value])
    return value


def typed_device(context: typer.Context, value: str | None) -> str | None:
    """Take a name, or a device file, that stands in an option.

    A pipe is left alone: it can be read once.
    """
    if value is None or context.resilient_parsing:
        return value
    name = value.removeprefix("sim:")
    typed(context, name)
    if name.endswith((".yaml", ".yml", ".json")) and Path(name).is_file():
        from opennandlab.base.errors import ConfigError
        from opennandlab.core.config import trust_device

        with contextlib.suppress(ConfigError):  # whoever loads it says what is wrong
            trust_device(name)
    return value


def typed_each(context: typer.Context, values: list[str]) -> list[str]:
    """Take several names."""
    for value in values:
        typed(context, value)
    return values


def typed_sets(context: typer.Context, values: list[str] | None) -> list[str] | None:
    """Take `KEY=VALUE`, and `KEY=A,B,C`."""
    if not values or context.resilient_parsing:
        return values
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import parse_yaml
    from opennandlab.core.own import texts
    from opennandlab.policies.source import trust

    for text in values:
        key, _, value = text.partition("=")
        trust([value, *value.split(",")])
        if "{" in value or "[" in value:
            with contextlib.suppress(ConfigError):
                trust(texts(parse_yaml(f"[{value}]", key)))
    return values
