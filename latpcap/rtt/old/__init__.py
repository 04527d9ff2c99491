"""TEMPORARY: RTTs as Python estimated them, until the core does."""
