#!/bin/sh
# Stands in for mpirun: "-n N PROGRAM …" starts N ranks, each in a session of its own as Hydra does,
# and ends with the status of the last one that failed.
n=$2
shift 2
pids=""
rank=0
while [ "$rank" -lt "$n" ]; do
  RANK=$rank setsid "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
done
exit "$status"
