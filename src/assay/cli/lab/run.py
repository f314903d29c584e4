"""Run a command on a lab's host.

Examples::

    assay lab run grid -- ip route
    assay lab run grid --host node3 -- uname -n
    assay lab run site --user nobody -- sbatch --wrap 'sleep 10'
"""

from __future__ import annotations


def run(name: str, *command: str, host: str | None = None, user: str | None = None) -> None:
    """Run a command on a lab's host, and exit with the command's status.

    Parameters
    ----------
    name
        The lab's name.
    command
        The command and its arguments, after --.
    host
        The host's name [default: the first, node1].
    user
        The user of this machine to run the command as [default: root].
    """
    from assay.lab.entering import run_on

    run_on(name, host, command, user)
