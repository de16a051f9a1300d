#!/bin/sh
# Stands in for numactl, dlprof and the like: programs that run another one, and may write a report once it has ended.
echo "around: $1 $2 $3"
"$@"
code=$?
# Of two containers that fail, the second to come here takes its time.
met="${TMPDIR:-/tmp}/$DET_ALLOCATION_ID"
[ $code = 0 ] || mkdir "$met" 2> /dev/null || { rmdir "$met"; sleep 2; }
echo "around: it ended with $code"
exit $code
