"""Surveys all hosts in parallel before a campaign on them."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.config import ClusterConfig
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.hostnames import names_text
from assay.launch.outages import ask_hosts
from assay.launch.remote import HostReply, python_command
from assay.system.model import System
from assay.system.nodes import differences
from assay.system.survey import MARK, HostSurvey, SurveyReply, SurveyRequest

# Maximum seconds for a host: starting Python from a busy shared file system is slow.
PATIENCE = 60.0


@dataclass(frozen=True)
class Surveyed:
    """The hosts that answered, in order, and the errors of the other hosts (``silent``)."""

    nodes: tuple[HostSurvey, ...]
    #: Facts about each host that answered.
    systems: tuple[System, ...]
    silent: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on hosts that are left out, and on hosts that differ from the others."""
        if not self.silent:
            return tuple(differences(self.nodes))
        names = list(self.silent)
        why = next(iter(self.silent.values())).splitlines() or [""]
        some = "does not answer and is" if len(names) == 1 else "do not answer and are"
        left = f"{names_text(names)} {some} left out: {why[-1].strip().rstrip('.')}."
        return (left, *differences(self.nodes))


def survey_hosts(cluster: ClusterConfig, folder: Path, config: Path | None) -> Surveyed:
    """Survey each host of a cluster.

    ``folder``: a folder that all hosts should see, created if it is missing. ``config``: the
    assay.toml in use. Raises AssayError if no host answers.
    """
    with _token(folder) as (token, word):
        question = SurveyRequest(
            config=str(config.absolute()) if config else None,
            token=str(token) if token else None,
            word=word,
        )
        # All hosts receive the same command. The host's name comes from the reply.
        text = msgspec.json.encode(question).decode()
        command = python_command("assay.system.survey", text)
        replies = ask_hosts(cluster.remote_shell, cluster.hosts, command, patience=PATIENCE)
    answered, silent = {}, {}
    for host, reply in replies.items():
        answer = _read(reply)
        if answer is None:
            silent[host] = reply.complaint
        else:
            answered[host] = answer
    if not answered:
        host, why = next(iter(silent.items()))
        raise AssayError(
            f"None of the {len(silent)} hosts answers."
            if len(silent) > 1
            else f"The host '{host}' does not answer.",
            detail=why,
            fix=f"Make sure that `{cluster.remote_shell} {host} true` works without a password, "
            "and that the hosts see this Python and this assay under the same paths.",
        )
    return Surveyed(
        tuple(answer.survey for answer in answered.values()),
        tuple(answer.system for answer in answered.values()),
        silent,
    )


def _read(reply: HostReply) -> SurveyReply | None:
    """The answer in a host's output; None if there is no valid answer."""
    for line in reversed(reply.out.splitlines()):
        if line.startswith(MARK):
            try:
                answered = msgspec.json.decode(line.removeprefix(MARK), type=SurveyReply)
            except UNREADABLE:
                return None
            found = answered.survey
            # Bounds on the lead of the host's clock, which the host read between request and reply.
            ahead = (found.utc - reply.answered, found.utc - reply.asked)
            survey = msgspec.structs.replace(
                found, host=reply.host, utc=reply.answered, ahead=ahead
            )
            return SurveyReply(survey, answered.system)
    return None


@contextlib.contextmanager
def _token(folder: Path) -> Iterator[tuple[Path | None, str]]:
    """A temporary file that contains a word; None if the folder can't be written."""
    word = secrets.token_hex(8)
    token = folder.absolute() / f".seen-{os.getpid()}-{word}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        token.write_text(word)
    except OSError:
        yield None, word
        return
    try:
        yield token, word
    finally:
        token.unlink(missing_ok=True)
