"""Measures that follow from the tables alone: time budget, statements, routes, TCP, health; columns in, columns out."""
