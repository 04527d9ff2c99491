"""Runs a command and writes to a file descriptor: wall seconds, processor seconds, peak megabytes, and how many at most
were its own, without pages of files that the system can drop (0 where there is no /proc).

    python -IS launcher.py DESCRIPTOR COMMAND…

Linux counts as a process's peak also what its parent had when it was started: so that must be small.
"""

import os
import sys
import threading
import time

EVERY_S = 0.1


def watch(child, seen):
    """Keep the most memory of its own that the child was seen with."""
    try:
        while True:
            with open(f"/proc/{child}/status") as status:
                own = [line for line in status if line.startswith("RssAnon:")]
            seen[0] = max(seen[0], int(own[0].split()[1]) / 1e3)
            time.sleep(EVERY_S)
    except (OSError, IndexError):
        return  # it is over, or this is no Linux


_, descriptor, *command = sys.argv
begin = time.perf_counter()
try:
    child = os.posix_spawnp(command[0], command, os.environ)
except OSError as error:
    sys.exit(f"{command[0]}: {error.strerror}")
own_mb = [0.0]
threading.Thread(target=watch, args=(child, own_mb), daemon=True).start()
done, status, used = os.wait4(child, 0)
wall_s = time.perf_counter() - begin
peak_mb = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
os.write(int(descriptor), f"{wall_s} {used.ru_utime + used.ru_stime} {peak_mb} {own_mb[0]}".encode())
sys.exit(os.waitstatus_to_exitcode(status) and 1)
