"""Columns in and out: the recording's tables, where captures come from, what leaves under another name."""
