#!/bin/sh
# Installs what the tests on a Slurm of their own need, where it can; says what is missing where not.

missing=
for program in slurmctld slurmd sbatch munged ip tc; do
    PATH="$PATH:/usr/sbin:/sbin" command -v $program >/dev/null 2>&1 || missing="$missing $program"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "assay: The tests on a cluster need the programs$missing." >&2
    echo "       Install Slurm, munge and iproute2 (Debian: apt-get install slurm-wlm slurm-client munge iproute2), and run as root." >&2
    exit 2
fi
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    slurm-wlm slurm-client munge iproute2 >/dev/null
