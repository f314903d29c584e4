#!/bin/sh
# Installs what the tests of programs under the MPI libraries of Debian need, where it can; says what
# is missing where not: those tests are then skipped.

lacking() { for program; do command -v "$program" >/dev/null 2>&1 || printf ' %s' "$program"; done; }

missing=$(lacking mpirun.openmpi mpicc.openmpi mpirun.mpich mpicc.mpich gfortran)
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || missing="$missing mpi4py"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Tests of programs under Debian's MPI libraries are skipped: no$missing."
    exit 0
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran python3-mpi4py >/dev/null ||
    echo "Tests of programs under Debian's MPI libraries are skipped: no$missing."
