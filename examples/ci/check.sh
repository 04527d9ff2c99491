#!/bin/sh
# check.sh CAPTURE [OPTION…]: write the report, and end with status 1 where the capture is chattier than release 1 was.
set -eu
capture=$1
shift
exec latpcap analyze "$capture" -o report.html --quiet \
    --baseline "$(dirname "$0")/baseline.json" \
    --fail-if 'round_trips > baseline + 10%' \
    --fail-if 'finding(new)' \
    --fail-if 'project(15ms) > 500ms' \
    --ci gates.xml --ci latpcap.sarif "$@"
