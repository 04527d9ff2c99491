"""Captures of any size in a known shape, fast enough for a pipe: what is repeated is made once, and patched."""
