"""The job again, on another network: what is replayed, the runtimes at another RTT and how sure they are."""
