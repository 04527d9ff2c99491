"""What leaves under another name."""
