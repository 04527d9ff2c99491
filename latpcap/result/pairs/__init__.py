"""Two captures of one job: compared, validated, rehearsed."""
