#!/bin/bash
# The lab up with all its servers loaded, as recordings need it. LATPCAP_LAB says where it keeps its state.
set -e
. "$(dirname "$0")/env.sh"
HOT=${REALTIME:+-H} "$here/up.sh" # sleeping CPUs make a link late: as users have it, or kept awake
for server in mariadb postgresql firebird; do
  loaded=$LAB/data/$server.loaded
  if [ -e "$loaded" ]; then "$here/$server.sh" start; else "$here/$server.sh" init start load; touch "$loaded"; fi
done
