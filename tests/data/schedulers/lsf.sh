#!/bin/bash
#BSUB -J assay-seth-network
#BSUB -o /dev/null
#BSUB -n 4
#BSUB -R "span[ptile=1]"
#BSUB -R "select[type==any && ib]"
#BSUB -x
#BSUB -W 26:02
#BSUB -rn
#BSUB -wa TERM -wt 0:01
#BSUB -q batch
#BSUB -P project7
#BSUB -U friday
#BSUB -sp 50

export ASSAY_TASK=0
exec >'/scratch/runs/a run/jobs/1.out' 2>&1
cd -- '/scratch/runs/a run' || exit 1
command -v module >/dev/null 2>&1 || . /etc/profile
module load gcc/13 || exit 1
module load openmpi || exit 1
ulimit -l unlimited
export ASSAY_CACHE=/scratch/cache
export ASSAY_NOTE='it'"'"'s'
exec -- /opt/venv/bin/python -m assay job '/scratch/runs/a run' --number 1 </dev/null
