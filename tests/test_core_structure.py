"""The modules of the core: none needs one that needs it, and a file of Rust shows its subject.

A module may use what those that contain it define, as Rust's modules do. Tests beside the code do not count.
"""

import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "core" / "src"
COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|b?r(#+)".*?"\1|b?"(?:\\.|[^"\\])*"', re.DOTALL)
TEST_MODULES = re.compile(
    r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod \w+\s*(;|\{.*\Z)", re.DOTALL
)
INLINE_TESTS = re.compile(
    r"^( *)#\[cfg\([^\]\n]*\btest\b[^\n]*\n(?:\1#\[[^\n]*\n)*(\1(?:pub(?:\([^)]*\))? )?mod \w+ \{.*?^\1\})",
    re.DOTALL | re.MULTILINE,
)
MAX_INLINE_LINES = 30
"""Longer test modules stand in a file of their own beside their subject."""
DECLARED = re.compile(r"\bmod (\w+);")
USES = re.compile(r"\b(pub(?:\([^)]*\))? )?use ([^;]+);")
PATHS = re.compile(r"(?<![\w:])(?:\w+::)+\w+")

Module = tuple[str, ...]


def unfolded(tree: str, prefix: tuple[str, ...] = ()) -> Iterator[tuple[list[str], str]]:
    """The paths of a `use`, each with the name that it has from then on."""
    head, brace, inner = tree.partition("{")
    if not brace:
        path, _, name = tree.partition(" as ")
        parts = [*prefix, *(part.strip() for part in path.split("::"))]
        parts = parts[:-1] if len(parts) > 1 and parts[-1] == "self" else parts
        yield parts, name.strip() or parts[-1]
        return
    prefix += tuple(part for part in head.strip().split("::") if part)
    depth, begun = 0, 0
    inner = inner.strip().removesuffix("}") + ","
    for place, character in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            if part := inner[begun:place].strip():
                yield from unfolded(part, prefix)
            begun = place + 1


class Core:
    def __init__(self) -> None:
        self.texts: dict[Module, str] = {}
        for path in SOURCES.rglob("*.rs"):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            text = COMMENTS_AND_TEXTS.sub("", path.read_text())
            self.texts[() if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts] = TEST_MODULES.sub(
                "", text
            )
        tested = {module for module in self.texts if not self.is_declared(module)}
        self.texts = {module: text for module, text in self.texts.items() if module not in tested}
        self.names = {module: dict(self.used(module)) for module in self.texts}

    def is_declared(self, module: Module) -> bool:
        return all(
            module[place] in DECLARED.findall(self.texts.get(module[:place], "")) for place in range(len(module))
        )

    def used(self, module: Module) -> Iterator[tuple[str, list[str]]]:
        for _, tree in USES.findall(self.texts[module]):
            yield from ((name, self.whole(module, path)) for path, name in unfolded(" ".join(tree.split())))

    def whole(self, module: Module, path: list[str]) -> list[str]:
        """A path from the crate's root; of what lies elsewhere, or is no path, nothing."""
        at = list(module)
        if path[0] == "crate":
            return path[1:]
        if path[0] not in ("self", "super"):
            return [*at, *path] if (*at, path[0]) in self.texts else []
        while path and path[0] in ("self", "super"):
            at, path = (at[:-1] if path[0] == "super" else at), path[1:]
        return [*at, *path]

    def named(self, module: Module, path: list[str]) -> list[str]:
        known = self.names[module].get(path[0])
        return [*known, *path[1:]] if known else self.whole(module, path)

    def home(self, path: list[str], steps: int = 9) -> Module:
        """The module in which a path ends, behind every `pub use`."""
        module = next(tuple(path[:length]) for length in range(len(path), -1, -1) if tuple(path[:length]) in self.texts)
        rest = path[len(module) :]
        behind = self.names[module].get(rest[0]) if rest and steps else None
        return self.home([*behind, *rest[1:]], steps - 1) if behind else module

    def needs(self, module: Module) -> set[Module]:
        text = self.texts[module]
        taken = [
            path for public, tree in USES.findall(text) if not public for path, _ in unfolded(" ".join(tree.split()))
        ]
        taken += [path.split("::") for path in PATHS.findall(USES.sub("", text))]
        found = {self.home(self.named(module, path)) for path in taken}
        return {other for other in found if module[: len(other)] != other}


def test_no_module_of_the_core_needs_one_that_needs_it() -> None:
    core = Core()
    assert len(core.texts) > 100
    TopologicalSorter({module: core.needs(module) for module in core.texts}).prepare()  # raises CycleError


def test_a_file_shows_its_subject_and_long_tests_stand_beside_it() -> None:
    found = {
        f"{path.relative_to(ROOT)}": block.count("\n") + 1
        for crate in ("core", "link", "extension")
        for path in (ROOT / crate / "src").rglob("*.rs")
        for _, block in INLINE_TESTS.findall(path.read_text())
    }
    assert found
    assert {name: lines for name, lines in found.items() if lines > MAX_INLINE_LINES} == {}
