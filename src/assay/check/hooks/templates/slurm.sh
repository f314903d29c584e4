scontrol=@SCONTROL@
# slurmd gives its health checks no SLURM_CONF; empty if slurm.conf is where Slurm expects it.
conf=@CONF@
[ -z "$conf" ] || export SLURM_CONF="${SLURM_CONF:-$conf}"

# Drains this node with the reason, unless it already has one: an administrator's drain keeps its
# reason. Nothing here returns a node to service. Fails if Slurm doesn't answer.
drain() {
    node=${SLURMD_NODENAME:-$(uname -n)}
    node=${node%%.*}
    state=$(timeout -k 1 5 "$scontrol" --oneliner show node "$node" 2>/dev/null |
        tr ' ' '\n' | sed -n 's/^State=//p')
    case $state in
        '')
            note "$node isn't drained, its state is unknown: $reason"
            return 1
            ;;
        *DRAIN* | *DOWN* | *FAIL*)
            note "$node is $state already and keeps its reason; found: $reason"
            return 0
            ;;
    esac
    if timeout -k 1 5 "$scontrol" update "NodeName=$node" State=DRAIN "Reason=$reason"; then
        note "$node is drained: $reason"
    else
        note "$node isn't drained, scontrol failed: $reason"
        return 1
    fi
}
