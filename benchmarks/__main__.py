"""`python -m benchmarks`: what can be measured here, with what it needs and how long it takes."""

from pathlib import Path

README = Path(__file__).with_name("README.md")


def table() -> str:
    """The first table of the README."""
    return "\n".join(line for line in README.read_text().split("\n## ")[0].splitlines() if line.startswith("|"))


if __name__ == "__main__":
    print(table())
