"""Where captures come from: files, URLs, packets of other programs, key logs."""
