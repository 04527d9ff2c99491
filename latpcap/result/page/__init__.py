"""What a page shows that a reader can change: slider, switches, timeline, histograms."""
