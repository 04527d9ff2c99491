"""Gates and findings as build servers read them."""
