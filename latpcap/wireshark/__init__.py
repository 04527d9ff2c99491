"""latpcap inside Wireshark: a plugin in Lua that shows facts, a profile, and what opens a capture with both.

The plugin decodes nothing: what it shows comes from one run of latpcap, as a file of facts (`facts.py`).
"""
