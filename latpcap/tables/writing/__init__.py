"""Tables as files, bytes and SQL, and how files are written."""
