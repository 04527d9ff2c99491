"""Runs a command and writes wall seconds, processor seconds and peak megabytes to a file descriptor.

    python -IS launcher.py DESCRIPTOR COMMAND…

Linux counts as a process's peak also what its parent had when it was started: so that must be small.
"""

import os
import sys
import time

_, descriptor, *command = sys.argv
begin = time.perf_counter()
try:
    child = os.posix_spawnp(command[0], command, os.environ)
except OSError as error:
    sys.exit(f"{command[0]}: {error.strerror}")
done, status, used = os.wait4(child, 0)
wall_s = time.perf_counter() - begin
peak_mb = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
os.write(int(descriptor), f"{wall_s} {used.ru_utime + used.ru_stime} {peak_mb}".encode())
sys.exit(os.waitstatus_to_exitcode(status) and 1)
