import doctest
import importlib
import pkgutil

import pytest

import latpcap

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(latpcap.__path__, "latpcap.")
    if not name.endswith(("_core", "__main__"))
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
