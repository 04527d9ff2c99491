"""Gates: which figures they compare, with what, and what became of them."""
