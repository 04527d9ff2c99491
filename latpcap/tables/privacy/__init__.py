"""Names replaced by pseudonyms."""
