"""Builds kernels for each kind of processor among the hosts, on a host with this processor."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.hostnames import names_text
from assay.kernels.building import build_kernels
from assay.kernels.builds.identity import cpu_kind
from assay.kernels.builds.toolchain import Toolchain
from assay.launch.kept_script import kept_script
from assay.launch.outages import ask_hosts
from assay.launch.remote import python_command
from assay.system.nodes import kinds

if TYPE_CHECKING:
    from assay.kernels.building import BuildProgress
    from assay.system.survey import HostSurvey

# Maximum seconds for a build on another host: fast hosts need minutes, and compute nodes may be
# slow.
PATIENCE = 3600.0

Progress = Callable[["BuildProgress"], None]


@dataclass(frozen=True)
class Build:
    """The program of a launch: the executable, or a script that selects the host's executable."""

    program: Path
    #: Builds by kind of processor, if there are several.
    executables: Mapping[str, Path] = field(default_factory=dict)

    @property
    def described(self) -> dict[str, object]:
        """The program's description in the manifest."""
        several = {kind: str(path) for kind, path in self.executables.items()}
        return {"executable": str(self.program), **({"executables": several} if several else {})}


def build_everywhere(
    toolchains: Mapping[str, Toolchain],
    kernels: Mapping[str, Collection[str]],
    nodes: Sequence[HostSurvey],
    cluster: ClusterConfig | None,
    config: Path | None,
    progress: Progress | None,
) -> dict[str, Build]:
    """The builds with each toolchain, by its name.

    ``kernels``: kernels to build, by toolchain; a build may have more kernels. Toolchains with
    "native" flags build once for each kind of processor among ``nodes``: on this machine if it has
    this processor, or otherwise on the first host that has it. Hosts build at the same time as this
    machine. Raises AssayError with the compiler's output.
    """
    here = cpu_kind()
    elsewhere = {kind: group for kind, group in kinds(nodes).items() if kind != here}
    native = [name for name, toolchain in toolchains.items() if "native" in toolchain.flags]
    wanted = {name: sorted(kernels[name]) for name in native}
    remote = _Remote(elsewhere if native else {}, wanted, cluster, config)
    everyone_elsewhere = bool(nodes) and len(elsewhere) == len(kinds(nodes))
    with remote:
        own = {
            name: build_kernels(toolchain, progress, kernels=kernels[name])
            for name, toolchain in toolchains.items()
            if name not in native or not everyone_elsewhere
        }
    built = {}
    for name in toolchains:
        found = {kind: paths[name] for kind, paths in remote.executables.items() if name in paths}
        if name in own and (not found or not everyone_elsewhere):
            found[here] = own[name]
        if len(found) == 1:
            built[name] = Build(next(iter(found.values())))
        else:
            built[name] = Build(_selector(found, nodes), found)
    return built


class _Remote:
    """Builds on one host with each kind of processor, while the body of ``with`` runs."""

    def __init__(
        self,
        groups: Mapping[str, Sequence[HostSurvey]],
        kernels: Mapping[str, Sequence[str]],
        cluster: ClusterConfig | None,
        config: Path | None,
    ) -> None:
        self._hosts = {group[0].host: kind for kind, group in groups.items()}
        self._groups = groups
        self._kernels = kernels
        self._shell = cluster.remote_shell if cluster else ""
        self._config = config
        self._error: AssayError | None = None
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._build, daemon=True)
        self.executables: dict[str, dict[str, Path]] = {kind: {} for kind in groups}

    def __enter__(self) -> None:
        if self._hosts:
            self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._hosts:
            return
        if kind is not None:
            self._given_up.set()
        self._thread.join()
        if kind is None and self._error is not None:
            raise self._error

    def _build(self) -> None:
        try:
            for name in self._kernels:
                self._build_with(name)
        except AssayError as error:
            self._error = error

    def _build_with(self, toolchain: str) -> None:
        words = ["assay", "kernels", *self._kernels[toolchain], "--build"]
        words += ["--toolchain", toolchain, "--json"]
        words += ["--config", str(self._config.absolute())] if self._config else []
        replies = ask_hosts(
            self._shell,
            list(self._hosts),
            python_command(*words),
            patience=PATIENCE,
            given_up=self._given_up,
        )
        for host, reply in replies.items():
            path = _executable(reply.out) if reply.ok else None
            if path is None:
                group = [node.host for node in self._groups[self._hosts[host]]]
                raise AssayError(
                    f"The kernels can't be built on '{host}' with the toolchain '{toolchain}'.",
                    where=f"for {names_text(group)}, whose processor differs from this machine's "
                    "processor",
                    fix="Make sure that the compiler works there, or set flags without "
                    f"-march=native in [toolchains.{toolchain}] of assay.toml, so that one "
                    "build suits all hosts.",
                    detail=reply.complaint,
                )
            self.executables[self._hosts[host]][toolchain] = path


def _executable(said: str) -> Path | None:
    """The path in the output of `assay kernels --build --json`, which may follow a login message.

    None if there is none.
    """
    start = said.find("{")
    try:
        return Path(json.loads(said[start:])["executable"]) if start >= 0 else None
    except (ValueError, KeyError, TypeError):
        return None


def selector_script(executables: Mapping[str, Path], nodes: Iterable[HostSurvey]) -> str:
    """A POSIX shell script that executes the build for the host on which it runs."""
    cases = ""
    for kind, path in executables.items():
        names = [node.hostname for node in nodes if node.identity == kind]
        if names:
            words = " | ".join(shlex.quote(name) for name in dict.fromkeys(names))
            cases += f'  {words})\n    exec {shlex.quote(str(path))} "$@" ;;\n'
    return f"""\
#!/bin/sh
# Executes the build for the processor of the host it runs on.
case "$(uname -n)" in
{cases}  *) echo "assay: no kernels were built for the host $(uname -n)" >&2; exit 127 ;;
esac
"""


def _selector(executables: Mapping[str, Path], nodes: Sequence[HostSurvey]) -> Path:
    script = selector_script(executables, nodes)
    return kept_script("selectors", "assay-kernels", script)
