"""The finished results that every report prints: analysis, verdict, comparison, validation, gates."""
