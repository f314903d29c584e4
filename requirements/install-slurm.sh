#!/bin/sh
# Installs what the tests on a Slurm of their own need, where it can; says what is missing where not.

PATH="$PATH:/usr/sbin:/sbin"
lacking() { for program; do command -v "$program" >/dev/null 2>&1 || printf ' %s' "$program"; done; }
install() { DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }

missing=$(lacking slurmctld slurmd sbatch munged ip tc)
accounting=$(lacking slurmdbd mariadbd)
[ -n "$missing$accounting" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    [ -n "$missing" ] || exit 0
    echo "assay: The tests on a cluster need the programs$missing." >&2
    echo "       Install Slurm, munge and iproute2 (Debian: apt-get install slurm-wlm slurm-client munge iproute2), and run as root." >&2
    exit 2
fi
apt-get update -qq
[ -z "$missing" ] || install slurm-wlm slurm-client munge iproute2 || exit
[ -z "$accounting" ] || install slurmdbd mariadb-server || echo "Tests of accounting are skipped: no$accounting."
