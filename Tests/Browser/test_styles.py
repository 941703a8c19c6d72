"""The style sheet has no unused rules, and all used names exist."""

import re

import pytest

from page_server import PACKAGE

SHEET = re.sub(r"/\*.*?\*/", "", (PACKAGE / "Public/skylight.css").read_text(), flags=re.DOTALL)
SELECTORS = [selector for selector in re.findall(r"([^{}]+)\{", SHEET) if not selector.strip().startswith("@")]
CLASSES = sorted({name for selector in SELECTORS for name in re.findall(r"\.([A-Za-z][\w-]*)", selector)})
SOURCES = "\n".join(
    path.read_text()
    for folder, kind in [("Templates", "**/*.mustache"), ("Public", "*.js"), *[(f"Sources/{module}", "**/*.swift") for module in ("Console", "RecordPages", "TrafficPages", "AdminPages")], ("Sources/RequestLog", "**/*.swift")]
    for path in sorted((PACKAGE / folder).glob(kind))
)
# Composed names, such as "depth\(number)" and side-{{change}}.
MADE = tuple(beginning for beginning in set(re.findall(r"\b([a-z]+-?)(?:\\\(|\{\{)", SOURCES)) if len(beginning) > 3)
NAMES = set(re.findall(r"[\w-]+", SOURCES))


def is_used(name: str) -> bool:
    return name in NAMES or name.startswith(MADE)


def test_every_class_is_used():
    assert len(CLASSES) > 100
    assert [name for name in CLASSES if not is_used(name)] == []


def test_every_variable_is_used_and_set():
    used = set(re.findall(r"var\((--[\w-]+)", SHEET))
    scripts = "".join(path.read_text() for path in sorted((PACKAGE / "Public").glob("*.js")))
    made = set(re.findall(r"(--[\w-]+):", SHEET + scripts))
    assert used == made


@pytest.mark.parametrize("attribute", sorted({name for selector in SELECTORS for name in re.findall(r"\[(data-[\w-]+)", selector)}))
def test_every_attribute_is_set_somewhere(attribute):
    words = attribute.removeprefix("data-").split("-")
    in_scripts = words[0] + "".join(word.capitalize() for word in words[1:])
    assert attribute in SOURCES or f"dataset.{in_scripts}" in SOURCES


def test_light_and_dark_differ_in_colours_alone():
    """Axe looks at one of them (looks.py), and what it finds but colours is in both."""
    assert "prefers-color-scheme" not in SHEET + SOURCES
    colour = r"(?:#[0-9a-f]{6}|rgb\([^()]*\))"
    made = re.findall(rf"--[\w-]+:\s*light-dark\({colour}, {colour}\);", SHEET)
    assert len(made) == SHEET.count("light-dark(") > 10
    # A chosen theme only switches between the two, except for the button that shows it.
    themed = [rule for rule in re.findall(r"[^{}]*theme[^{}]*\{[^{}]*\}", SHEET) if "[data-themes" not in rule]
    assert {re.sub(r"\s+", " ", rule).strip() for rule in themed} == {f":root[data-theme={name}] {{ color-scheme: {name} }}" for name in ("light", "dark")}
