"""The documentation as a site: the pages as they are, a page made of the help of each command, and Zensical.

    python tests/docs_site.py      writes build/site/html; a link that leads nowhere is an error

Its pages are those that lead on from README.md, in the folders where they lie, so that no link has to change. Which of
its four parts a page belongs to is told by docs/README.md.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from latpcap.cli import cli
from latpcap.cli.shared.command import ALL

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "docs" / "README.md"
SEARCHING = ROOT / "docs" / "iframe-worker.js"
PARTS = ("First twenty minutes", "How to", "Reference", "Explanation")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
TITLED = re.compile(r"\[([^\]]+)\]\(([^()\s#]+)\)")
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""At the head of a page that is not of docs/: measurements must not bury what somebody looks for."""

Nav = list[tuple[str, "str | Nav"]]
"""Titles, and the page or the pages below each."""


def links(page: Path) -> list[str]:
    """Where a page leads to inside the repository."""
    return [link for link in LINK.findall(CODE.sub("", page.read_text())) if not re.match(r"[a-z]+:", link)]


def reached(start: Path) -> set[Path]:
    """The files that can be reached from a page, itself among them."""
    found, coming = set(), [start]
    while coming:
        path = coming.pop()
        if path not in found:
            found.add(path)
            if path.suffix == ".md":
                targets = (link.partition("#")[0] for link in links(path))
                coming += [
                    there for target in targets if target and (there := (path.parent / target).resolve()).exists()
                ]
    return found


def navigation(commands: list[str]) -> Nav:
    """The four parts, as docs/README.md has them; below the reference, the pages of the commands."""
    parts: Nav = [("latpcap", "README.md"), ("All questions", "docs/README.md")]
    for part in PARTS:
        text = INDEX.read_text().partition(f"\n## {part}\n")[2].partition("\n## ")[0]
        groups: Nav = []
        for line in text.splitlines():
            pages: Nav = [(title[0].upper() + title[1:], place(target)) for title, target in TITLED.findall(line)]
            about = re.match(r"\| ([^|\[]+) \|", line)
            groups += [(about[1].capitalize(), pages)] if about and pages else pages
        if part == "Reference":
            groups.insert(0, ("Commands", [(name, f"docs/commands/{name}.md") for name in commands]))
        parts.append((part, groups))
    return parts


def place(target: str) -> str:
    """The page that docs/README.md names, as seen from the root."""
    return str((INDEX.parent / target).resolve().relative_to(ROOT))


def toml(nav: Nav) -> str:
    """The navigation as an array of TOML."""
    entries = (
        f"{{ {json.dumps(title)} = {json.dumps(to) if isinstance(to, str) else toml(to)} }}" for title, to in nav
    )
    return f"[{', '.join(entries)}]"


class Markdown(click.HelpFormatter):
    """What click writes of a command, as a page."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """How it is called."""
        self.write(f"```text\n{prog} {args}\n```\n")

    def write_text(self, text: str) -> None:
        """Paragraphs; what must not be wrapped is an example."""
        for paragraph in re.split(r"\n\s*\n", text):
            lines = [line.strip() for line in paragraph.strip().splitlines()]
            shown = ["```sh", *lines[1:], "```"] if lines[:1] == ["\b"] else [escaped(line) for line in lines]
            self.write("\n".join(["", *shown, ""]))

    def write_dl(self, rows: object, col_max: int = 30, col_spacing: int = 2) -> None:
        """Options and what they do."""
        self.write("| option | what |\n|---|---|\n")
        for term, meaning in rows:  # type: ignore[attr-defined]
            self.write(f"| `{term}` | {escaped(meaning)} |\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """A heading, and what stands below it."""
        self.write(f"\n## {name}\n\n")
        yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        """None: four blanks would be code."""
        yield


def escaped(text: str) -> str:
    """Return `text` so that Markdown shows it as it stands, but for what is code already."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>|\[\]])", r"\\\1", part) for part in parts)


def context_of(command: click.Command) -> click.Context:
    """As if latpcap had been called with it."""
    return click.Context(command, cli.make_context("latpcap", [], resilient_parsing=True), command.name)


def command_page(command: click.Command) -> str:
    """The help of a command, all of its options explained."""
    context = context_of(command)
    context.meta[ALL] = True
    formatter = Markdown()
    command.format_help(context, formatter)
    return f"# latpcap {command.name}\n\n{formatter.getvalue()}"


def stage(folder: Path) -> None:
    """Write into `folder` what Zensical builds from."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in [SEARCHING, *sorted(reached(ROOT / "README.md"))]:
        there = folder / "pages" / path.relative_to(ROOT)
        if path.is_file():
            there.parent.mkdir(parents=True, exist_ok=True)
            read = ROOT / "docs" in path.parents or path.suffix != ".md" or path.parent == ROOT
            there.write_bytes((b"" if read else UNSEARCHED.encode()) + path.read_bytes())
    (folder / "pages" / "docs" / "commands").mkdir()
    for command in cli.commands.values():
        (folder / "pages" / "docs" / "commands" / f"{command.name}.md").write_text(command_page(command))
    nav = toml(navigation(sorted(cli.commands)))
    settings = (ROOT / "docs" / "zensical.toml").read_text()
    (folder / "zensical.toml").write_text(settings.replace("[project]\n", f"[project]\nnav = {nav}\n", 1))


def main() -> int:
    """Build it."""
    folder = ROOT / "build" / "site"
    stage(folder)
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run([zensical, "build", "--strict", "-f", folder / "zensical.toml"], check=False)
    shutil.copytree(folder / "pages", folder / "html", ignore=shutil.ignore_patterns("*.md"), dirs_exist_ok=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
