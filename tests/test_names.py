"""Names and docstrings: a constant has its bound and its noun, a docstring begins with its verb or its subject."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import latpcap

ROOT = Path(latpcap.__file__).parent
CORE = ROOT.parent / "core" / "src"
BOUNDS = re.compile(
    r"^_?((LEAST|MOST|FEWEST)(_.*)?|FEW|MANY|LONGEST|SHORTEST|LARGEST|ENOUGH|SURE|PLAIN|NEARLY|ALIKE|SHOWN)$"
)
"""Words that stand for a bound without saying which: `MIN_` and `MAX_` do."""
FILLERS = re.compile(r"(What|Of|Where|So|Those|Likewise|Nothing|The same)\b|…")
"""Words that begin a docstring without its subject."""


def constants(path: Path) -> Iterator[str]:
    """Numbers among the names of a module's top level."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp | ast.UnaryOp | ast.Tuple):
            names = (each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name))
            yield from (name for name in names if name.isupper())


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Texts of modules, classes and functions, and those below fields and constants."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_a_constant_of_python_says_which_bound_it_is() -> None:
    found = [f"{path.relative_to(ROOT)}: {name}" for path in ROOT.rglob("*.py") for name in constants(path)]
    assert found
    assert [each for each in found if BOUNDS.match(each.rpartition(" ")[2])] == []


@pytest.mark.skipif(not CORE.is_dir(), reason="the core's source is not beside this package")
def test_a_constant_of_the_replay_says_which_bound_it_is() -> None:
    named = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?const ([A-Z][A-Z_]*):", re.MULTILINE)
    found = [f"{path.name}: {name}" for path in (CORE / "job").glob("*.rs") for name in named.findall(path.read_text())]
    assert found
    assert [each for each in found if BOUNDS.match(each.rpartition(" ")[2])] == []


def test_a_docstring_begins_with_its_verb_or_its_subject() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {text[:60]}"
        for path in ROOT.rglob("*.py")
        for line, text in docstrings(path)
        if FILLERS.match(text)
    ]
    assert found == []
