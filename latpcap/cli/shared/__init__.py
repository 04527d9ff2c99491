"""Common parts: options, files, gates, rows, exit statuses."""
