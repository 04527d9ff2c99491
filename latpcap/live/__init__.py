"""What runs while it is measured: recordings, commands under them, links and relays. Everything here has a clock."""
