#!/bin/sh
# record.sh CAPTURE COMMAND…: run the command, and record what passes between it and the database on port 3306.
set -eu
capture=$1
shift
sudo tcpdump -i lo -U -s 0 -w "$capture" port 3306 &
recorder=$!
sleep 2 # until tcpdump listens
status=0
"$@" || status=$?
sleep 2 # until the last packets have passed
sudo kill "$recorder"
wait "$recorder" || true
exit "$status"
