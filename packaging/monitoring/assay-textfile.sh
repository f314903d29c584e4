#!/bin/sh
# Writes the present state of a machine's history for the textfile collector of node_exporter:
#     assay-textfile.sh RUNS FOLDER [option of assay history ...]
# The collector takes no times and one value per series, so results of single runs are left out, and
# it doesn't know the type stateset. `promtool tsdb create-blocks-from openmetrics` takes them all.
set -eu
runs=$1 folder=$2
shift 2
new=$(mktemp "$folder/assay-history.XXXXXX")
trap 'rm -f "$new"' EXIT
whole=$(mktemp)
trap 'rm -f "$new" "$whole"' EXIT
assay history --runs "$runs" --format openmetrics --output "$whole.prom" "$@" >/dev/null
sed -E -e '/^(# [A-Z]+ )?assay_result_/d' -e 's/^(# TYPE .*) stateset$/\1 gauge/' \
    -e '/^[^#]/s/ [0-9.]+$//' "$whole.prom" >"$new"
rm -f "$whole.prom"
chmod 644 "$new"
mv "$new" "$folder/assay-history.prom"
