"""Pages of docs/ whose Python is run: after each block stands what it shows, as at a prompt.

python tests/pages.py             writes what the blocks show anew; look at the difference before you commit it
python tests/pages.py --print     prints the pages as they would be
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
from contextlib import chdir, redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any

from conftest import FIXTURES, ROOT

PAGES = (ROOT / "docs" / "python.md",)
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str]]:
    """Each block of Python, and what stands below it."""
    return [(found[1], found[2] or "") for found in BLOCK.finditer(page)]


def shows(sources: list[str]) -> list[str]:
    """What each block shows when all are run one after the other, beside the fixtures."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, chdir(folder):
        os.symlink(FIXTURES, "fixtures")
        return [_shows(source, names) for source in sources]


def _shows(source: str, names: dict[str, Any]) -> str:
    """What it prints, and the value of its last expression."""
    tree = ast.parse(source)
    is_value = bool(tree.body) and isinstance(tree.body[-1], ast.Expr)
    last = [tree.body.pop()] if is_value else []
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "block", "exec"), names)
        for each in last:
            value = eval(compile(ast.Expression(each.value), "block", "eval"), names)  # type: ignore[attr-defined]
            if value is not None:
                print(repr(value))
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def written(page: str) -> str:
    """The page with what its blocks show."""
    shown = iter(shows([source for source, _ in blocks(page)]))

    def block(found: re.Match[str]) -> str:
        output = next(shown)
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return BLOCK.sub(block, page)


def main() -> None:
    """Write the pages anew, or print them."""
    for path in PAGES:
        page = written(path.read_text())
        if "--print" in sys.argv:
            print(page)
        else:
            path.write_text(page)


if __name__ == "__main__":
    main()
