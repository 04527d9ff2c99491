"""Sources of captures: files, URLs, packets of other programs, key logs."""
