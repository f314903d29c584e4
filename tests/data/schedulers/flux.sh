#!/bin/bash
# flux: --job-name=assay-seth-network
# flux: --output='/scratch/runs/a run/jobs/1.out'
# flux: --nodes=4
# flux: --exclusive
# flux: --time-limit=93662s
# flux: --signal=SIGTERM@60s
# flux: --queue=batch
# flux: --bank=project7
# flux: --requires='rome and not ib'
# flux: --urgency=20

export ASSAY_TASK=0
cd -- '/scratch/runs/a run' || exit 1
command -v module >/dev/null 2>&1 || . /etc/profile
module load gcc/13 || exit 1
module load openmpi || exit 1
ulimit -l unlimited
export ASSAY_CACHE=/scratch/cache
export ASSAY_NOTE='it'"'"'s'
exec -- /opt/venv/bin/python -m assay job '/scratch/runs/a run' --number 1 </dev/null
