#!/bin/bash
#SBATCH --job-name=assay-seth-network
#SBATCH --output="/scratch/runs/a run/jobs/1.out"
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=26:01:02
#SBATCH --no-requeue
#SBATCH --signal=B:TERM@60
#SBATCH --partition=batch
#SBATCH --account=project7
#SBATCH --reservation=friday
#SBATCH --constraint="skylake&ib"
#SBATCH --qos=debug

export ASSAY_TASK=0
cd -- '/scratch/runs/a run' || exit 1
command -v module >/dev/null 2>&1 || . /etc/profile
module load gcc/13 || exit 1
module load openmpi || exit 1
ulimit -l unlimited
export ASSAY_CACHE=/scratch/cache
export ASSAY_NOTE='it'"'"'s'
exec -- /opt/venv/bin/python -m assay job '/scratch/runs/a run' --number 1 </dev/null
