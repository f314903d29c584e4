"""Toolchains in containers: scripts that run a command in an image.

The compiler, its MPI and the ranks see the host's files under the same paths: the folders in
``bind``, the working directory, and the folders of all arguments that are absolute paths.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.cache import cache_folder, cache_home, check_trusted
from assay.config.sections import ContainerConfig
from assay.kernels.builds.shared import shared_folder

# How each program is called: the option for each bound folder in "$@", and the words between the
# options and the command. Apptainer 1.3 (apptainer exec), Sarus 1.6 (sarus run), Podman 4
# (podman-run(1)): user guides.
_BIND = {
    "apptainer": 'set -- "$@" --bind "$folder"',
    "sarus": 'set -- "$@" "--mount=type=bind,source=$folder,destination=$folder"',
    "podman": 'set -- "$@" --volume "$folder:$folder"',
}
_CALL = {
    "apptainer": '{program} exec "$@" --pwd "$PWD"',
    "sarus": '{program} run "$@" --workdir="$PWD"',
    # The ranks of a node share memory, and are seen and ended by the processes of the host.
    "podman": '{program} run --rm --network=host --ipc=host --pid=host --env-host "$@" '
    '--workdir "$PWD"',
}
# The number of the command's words separates them from the options.
_SCRIPT = """\
#!/bin/bash
# Runs a command in a container. Made by assay from [containers] of assay.toml.
command=({command} "$@")
folders=({folders} "$PWD")
for word in "$@"; do
  word=${{word#-[IL]}}
  case $word in
    /usr/*|/lib/*|/lib64/*|/bin/*|/etc/*|/proc/*|/dev/*|/sys/*) ;;
    /*) if [ -d "$word" ]; then folders+=("$word")
        elif [ -d "${{word%/*}}" ] && [ "${{word%/*}}" ]; then folders+=("${{word%/*}}"); fi ;;
  esac
done
set --
declare -A bound
for folder in "${{folders[@]}}"; do
  if [ -z "${{bound[$folder]}}" ] && [ -e "$folder" ] && [ "$folder" != / ]; then
    bound[$folder]=1
    {bind}
  fi
done
exec {call} {options} {image} "${{command[@]}}"
"""


def container_script(container: ContainerConfig, name: str, command: Sequence[str] = ()) -> Path:
    """The path of a script ``name`` that runs ``command`` with its arguments in the container.

    Without ``command`` the arguments are the command. Raises AssayError if the cache can't be
    written.
    """
    program = container.program or container.kind
    shared = [str(folder)] if (folder := shared_folder()) else []
    folders = [str(cache_home()), *shared, tempfile.gettempdir(), *container.bind]
    text = _SCRIPT.format(
        command=shlex.join(command),
        folders=shlex.join(folders),
        bind=_BIND[container.kind],
        call=_CALL[container.kind].format(program=shlex.quote(program)),
        options=shlex.join(container.options),
        image=shlex.quote(container.image),
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = cache_folder("containers", digest) / name
    check_trusted(path)
    if not path.exists() or path.read_text() != text:
        own = path.with_name(f".{name}.{os.getpid()}")
        own.write_text(text)
        own.chmod(0o755)
        own.replace(path)
    return path
