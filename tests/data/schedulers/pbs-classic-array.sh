#!/bin/bash
#PBS -S /bin/bash
#PBS -N assay-seth-netw
#PBS -j oe
#PBS -o /dev/null
#PBS -l nodes=4:ppn=64:ib
#PBS -n
#PBS -l walltime=26:01:02
#PBS -r n
#PBS -t 0-3
#PBS -q batch
#PBS -A project7
#PBS -l advres=friday
#PBS -m n

export ASSAY_TASK="$PBS_ARRAYID"
exec >'/scratch/runs/a run/jobs/1-'"$ASSAY_TASK".out 2>&1
cd -- '/scratch/runs/a run' || exit 1
command -v module >/dev/null 2>&1 || . /etc/profile
module load gcc/13 || exit 1
module load openmpi || exit 1
ulimit -l unlimited
export ASSAY_CACHE=/scratch/cache
export ASSAY_NOTE='it'"'"'s'
exec -- /opt/venv/bin/python -m assay job '/scratch/runs/a run' --number 1 </dev/null
