"""A part of a recording: what is selected, in which time, cut into which groups."""
