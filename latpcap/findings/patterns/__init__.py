"""The patterns that cost round trips, one a file: texts, rule, advice, what its fix removes."""
