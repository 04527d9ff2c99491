# Names and places every script of the lab shares. Set LATPCAP_LAB to keep data, sockets and pids elsewhere.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=${LATPCAP_LAB:-$here/state}
# LATPCAP_CLIENT_NS and LATPCAP_SERVER_NS name a second lab's namespaces.
CLIENT_NS=${LATPCAP_CLIENT_NS:-labc} SERVER_NS=${LATPCAP_SERVER_NS-labs} CLIENT_DEV=tunc SERVER_DEV=tuns CLIENT_IP=10.77.0.1 SERVER_IP=10.77.0.2
# The Python that has latpcap, whose link joins the namespaces.
PYTHON=${LATPCAP_PYTHON:-$here/../../.venv/bin/python}
# The newest servers (unstable.sh) have an address of their own, so that they use the usual ports beside the others.
# With an empty LATPCAP_SERVER_NS they run where their caller is.
NEWEST_IP=${LATPCAP_NEWEST_IP:-10.77.0.3}
# The one switch: before a command that must not wait for other programs of this machine. Empty (LATPCAP_REALTIME=) for hosts as they are:
# servers and clients at normal priority, and ready.sh lets processors and link sleep.
REALTIME=${LATPCAP_REALTIME-chrt -r 10}

runs() { # PIDFILE: the process that it names, unless that began later than the file: then it is another one with the same number
  local pid age; pid=$(cat "$1" 2>/dev/null) && age=$(ps -o etimes= -p "${pid:-0}") &&
    [ $((age + 2)) -ge $(($(date +%s) - $(stat -c %Y "$1"))) ]
}
