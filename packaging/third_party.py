"""What a wheel holds of others: the crates in its core, and uPlot in its reports.

    python packaging/third_party.py      writes LICENSE-THIRD-PARTY.txt and build/crates.cdx.json

maturin puts LICENSE* into the wheel, and the second, a CycloneDX bill of materials, where it is told to. maturin can
make a bill itself: with a time, a random number and the builder's folders in it, so that no two wheels are the same.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LICENCE = re.compile(r"(licen[sc]e|copying|notice|unlicense)", re.IGNORECASE)
MIT = re.compile(r"licen[sc]e-mit(\.(md|txt))?", re.IGNORECASE)
UPLOT = ROOT / "latpcap" / "report" / "assets" / "uplot"

Crate = dict[str, Any]
"""As `cargo metadata` describes one."""


class Crates:
    """What is linked into the extension on any platform: not what only builds or tests it."""

    def __init__(self) -> None:
        """Ask cargo."""
        asked = ["cargo", "metadata", "--format-version", "1", "--locked"]
        told = json.loads(subprocess.run(asked, cwd=ROOT, capture_output=True, check=True).stdout)
        self.packages: dict[str, Crate] = {package["id"]: package for package in told["packages"]}
        self.needs = {
            node["id"]: [
                each["pkg"] for each in node["deps"] if any(kind["kind"] is None for kind in each["dep_kinds"])
            ]
            for node in told["resolve"]["nodes"]
        }
        (self.extension,) = (key for key, crate in self.packages.items() if crate["name"] == "latpcap-extension")
        self.ours = set(told["workspace_members"])
        self.linked = sorted(self._reached(), key=lambda key: written(self.packages[key]))

    def _reached(self) -> set[str]:
        found: set[str] = set()
        coming = [self.extension]
        while coming:
            key = coming.pop()
            if key not in found:
                found.add(key)
                coming += self.needs[key]
        return found

    @property
    def others(self) -> list[Crate]:
        """Those that are not latpcap's own."""
        return [self.packages[key] for key in self.linked if key not in self.ours]


def written(crate: Crate) -> str:
    """Its name and version."""
    return f"{crate['name']} {crate['version']}"


def uplot() -> str:
    """The name and version of the one library that is no crate."""
    found = re.search(r"\((v[\d.]+)\)", (UPLOT / "uPlot.iife.min.js").read_text(encoding="utf-8")[:200])
    assert found is not None
    return f"uPlot {found[1][1:]}"


def licence_files(crate: Crate) -> list[Path]:
    """Its licences and notices, as its authors publish them; the MIT licence alone where that may be chosen."""
    files = sorted(path for path in Path(crate["manifest_path"]).parent.iterdir() if LICENCE.match(path.name))
    choice = re.split(r" OR |/", crate["license"])
    chosen = [path for path in files if MIT.fullmatch(path.name)] if len(choice) > 1 and "MIT" in choice else []
    return chosen or files


def licences(crates: Crates) -> Iterator[str]:
    """What has which licence, then the texts; one that several have stands there once."""
    texts: dict[str, list[str]] = defaultdict(list)
    texts[(UPLOT / "LICENSE").read_text(encoding="utf-8")].append(uplot())
    yield f"{uplot()}: MIT"
    for crate in crates.others:
        yield f"{written(crate)}: {crate['license']}"
        for path in licence_files(crate):
            texts[path.read_text(encoding="utf-8", errors="replace")].append(written(crate))
    for text, names in texts.items():
        yield f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text.strip()}"


def bill(crates: Crates) -> dict[str, Any]:
    """The crates and what needs what, in CycloneDX 1.5: <https://cyclonedx.org/docs/1.5/json/>."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    sums = {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}

    def component(crate: Crate) -> dict[str, Any]:
        digest = sums[crate["name"], crate["version"]]
        return {
            "type": "library",
            "bom-ref": reference(crate),
            "name": crate["name"],
            "version": crate["version"],
            "licenses": [{"expression": crate["license"].replace("/", " OR ")}],
            "purl": reference(crate),
            **({"hashes": [{"alg": "SHA-256", "content": digest}]} if digest else {}),
        }

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(crates.packages[crates.extension])},
        "components": [component(crates.packages[key]) for key in crates.linked if key != crates.extension],
        "dependencies": [
            {
                "ref": reference(crates.packages[key]),
                "dependsOn": sorted({reference(crates.packages[other]) for other in crates.needs[key]}),
            }
            for key in crates.linked
        ],
    }


def reference(crate: Crate) -> str:
    """Where it comes from, as a package URL."""
    return f"pkg:cargo/{crate['name']}@{crate['version']}"


def main() -> None:
    """Write both."""
    crates = Crates()
    heading = "latpcap holds code of these projects.\n"
    (ROOT / "LICENSE-THIRD-PARTY.txt").write_text(
        "\n".join([heading, *licences(crates), ""]), encoding="utf-8", newline="\n"
    )
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "crates.cdx.json").write_text(json.dumps(bill(crates), indent=1) + "\n", newline="\n")


if __name__ == "__main__":
    main()
