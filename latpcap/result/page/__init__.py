"""The parts of a page that a reader can change: slider, switches, timeline, histograms."""
