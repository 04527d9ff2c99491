"""Live measurement: recordings, commands under them, links and relays. Everything here has a clock."""
