"""Speed and memory: latpcap beside other readers of captures, by its parts, and as captures grow."""
