"""A scan in parts: who computes them (threads, processes, other machines), and what becomes of those that are lost."""
