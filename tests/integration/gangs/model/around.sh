#!/bin/sh
# Stands in for numactl, dlprof and the like: programs that run another one.
echo "around: $1 $2 $3"
"$@"
code=$?
echo "around: it ended with $code"
exit $code
