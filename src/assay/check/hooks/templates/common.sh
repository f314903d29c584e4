set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL

assay=@ASSAY@
folder=@FOLDER@
# The folder for files of jobs on a local disk; empty if none is named.
scratch=@SCRATCH@
# Seconds: the check ends itself after the first; `timeout` ends it after the second if it didn't;
# after the third this script goes on alone. A process that waits for a dead file server can't be
# ended, so this script waits for a timer and never for that process.
deadline=@DEADLINE@
limit=@LIMIT@
last=@LAST@

note() {
    echo "assay-check: $*" >&2
    timeout -k 1 2 logger -t assay-check -- "$*" >/dev/null 2>&1 || :
}

# Runs the check with the options given. Sets outcome to healthy, unhealthy or undecided, and
# reason to the printed line. Unhealthy takes exit status 1 and a line that says so: an interpreter
# that crashes ends with 1, too.
run_check() {
    outcome=undecided reason=''
    # In memory: a full disk mustn't lose the reason.
    saved=$(mktemp -d /run/assay-check.XXXXXX 2>/dev/null ||
        mktemp -d /dev/shm/assay-check.XXXXXX 2>/dev/null || mktemp -d) || {
        note 'undecided: there is no place for a temporary file'
        return 0
    }
    # The files lose their names as soon as they are open: a scheduler may kill this script, and
    # nothing stays behind. `command` keeps a failed `exec` from ending the script.
    # shellcheck disable=SC2094
    {
        command exec 3>"$saved/line" 4<"$saved/line" 5>"$saved/errors" 6<"$saved/errors" \
            7>"$saved/status" 8<"$saved/status"
    } 2>/dev/null
    opened=$?
    rm -rf "$saved"
    [ "$opened" = 0 ] || {
        note 'undecided: there is no place for a temporary file'
        return 0
    }
    [ -z "$scratch" ] || set -- --scratch "$scratch" "$@"
    sleep "$last" 3>&- 5>&- 7>&- &
    timer=$!
    (
        timeout -k 2 "$limit" "$assay" check --folder "$folder" --deadline "$deadline" "$@" 7>&-
        echo "$?" >&7
        kill "$timer"
    ) </dev/null >&3 2>&5 &
    # Whichever ends first ends the timer.
    wait "$timer" 2>/dev/null
    status=$(cat <&8)
    reason=$(tail -n 1 <&4 | tr -cd ' -~' | cut -c 1-100)
    errors=$(tail -n 1 <&6 | tr -cd ' -~' | cut -c 1-300)
    exec 3>&- 4<&- 5>&- 6<&- 7>&- 8<&-
    case $status:$reason in
        :*) note "undecided: the check didn't end within $last s and can't be ended" ;;
        124:* | 137:*) note "undecided: the check didn't end within $limit s and was ended" ;;
        126:* | 127:*) note "undecided: $assay can't be run" ;;
        0:*) outcome=healthy ;;
        1:unhealthy*) outcome=unhealthy ;;
        1:*) note "undecided: the check failed: $errors" ;;
        *) note "${reason:-undecided: the check ended with $status: $errors}" ;;
    esac
}
