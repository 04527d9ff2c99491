"""Packets captured by dumpcap or tcpdump: who may, into which files."""
