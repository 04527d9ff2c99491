"""The rooms of the house: which may know of which. Imports in functions and for type checkers count like all others."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import latpcap

ROOT = Path(latpcap.__file__).parent
FLOORS = (
    ("_core", "errors", "units", "quantities", "display", "protocols"),
    ("tables",),
    ("rtt",),
    ("measures",),
    ("projection",),
    ("findings",),
    ("result",),
    ("verify",),
    ("report",),
    ("capture", "reading"),
    ("ranking", "comparing", "scan", "wireshark"),
    ("work",),
    ("live",),
    ("cli", "pytest_plugin", "pytest_round_trips"),
)
"""From the bottom to the top: a room knows its own floor and those below."""
CORE_READERS = {
    *("tables.recording", "tables.part.groups", "tables.part.matching", "tables.part.selected", "tables.part.window"),
    *("tables.dataset.rows", "tables.dataset.writing", "measures.job", "measures.segments", "result.captures"),
    *("result.signoff", "result.tables", "scan", "cli.annotate", "cli.record"),
}
"""Modules that ask the core's recording themselves: others ask them. It only gets shorter."""
COLUMN_READERS = {
    *("tables.recording", "tables.exchanges", "tables.part.groups", "tables.dataset.file_plan", "tables.dataset.rows"),
    *("tables.dataset.writing", "measures.errors", "measures.health", "measures.health_frames"),
    *("measures.push_waits", "measures.routes", "measures.transactions", "findings.evidence", "findings.inference"),
    *("result.errors", "result.page.timeline", "result.tables"),
}
"""Modules that ask for a column of the exchanges by its name. It only gets shorter, too."""


def modules() -> dict[str, Path]:
    paths = [*ROOT.rglob("*.py"), ROOT / "_core.pyi"]
    names = (".".join(("latpcap", *path.relative_to(ROOT).with_suffix("").parts)) for path in paths)
    return {name.removesuffix(".__init__"): path for name, path in zip(names, paths, strict=True)}


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in names)


def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: set(imports(path, known)) - {name} for name, path in known.items()}


def floor(module: str) -> int:
    room = module.split(".")[1] if "." in module else ""
    return next((number for number, rooms in enumerate(FLOORS) if room in rooms), len(FLOORS))


def test_no_module_needs_one_that_needs_it() -> None:
    TopologicalSorter(graph()).prepare()  # raises CycleError


def test_no_room_knows_a_room_above_it() -> None:
    upward = [
        f"{module} imports {other}"
        for module, others in graph().items()
        for other in others
        if floor(other) > floor(module)
    ]
    assert upward == []


def test_every_room_has_its_floor() -> None:
    assert {name for name in graph() if floor(name) == len(FLOORS)} == {"latpcap", "latpcap.__main__"}


def test_a_class_name_says_which_class_is_meant() -> None:
    """Of Python's classes: `tables.recording.Recording` is what Python makes of the core's `Recording`."""
    trees = (ast.parse(path.read_text()) for path in modules().values() if path.suffix == ".py")
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert {name: count for name, count in names.items() if count > 1} == {}


def test_names_are_listed_only_where_a_package_hands_them_on() -> None:
    """What is a module's own begins with an underscore: a list beside that would drift from it."""
    lists = [name for name, path in modules().items() if "\n__all__ = " in path.read_text()]
    assert [name for name in lists if modules()[name].name != "__init__.py"] == []


def saying(pattern: str) -> set[str]:
    """The modules whose code has it."""
    paths = ((name, path) for name, path in modules().items() if path.suffix == ".py")
    return {name.removeprefix("latpcap.") for name, path in paths if re.search(pattern, path.read_text())}


def test_rows_cross_to_python_in_few_places() -> None:
    """The core's own rows, and columns of exchanges."""
    assert saying(r"(recording|part|whole|without_rows)\.core\b|self\.core\.|\.read\.\w+\(") == CORE_READERS
    assert saying(r"\b(exchange_columns?|exchange_codes)\(") == COLUMN_READERS
