"""Columns and rows: between Arrow and numpy, in one walk, on a disk, as users get them."""
