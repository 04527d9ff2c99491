"""What commands share: options, files, gates, rows, exit statuses."""
