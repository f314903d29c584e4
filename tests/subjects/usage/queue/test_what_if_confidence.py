"""The confidence of what-ifs is that of the model: planted logs through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.cli.app import main
from assay.report.usage.replaying import native_replay
from assay.usage.queue.policies import POLICIES
from planted_loads import weeks_of_users
from planted_sites import RULES, Site, machine_of, site_log

WHAT_IFS = ("--what-if", "nodes=+25%", "--what-if", "heartbeat=10%", "--resamples", "30")


def planted(folder: Path, rules: str, *, seed: int, weeks: int = 10, load: float = 0.55) -> Path:
    """The log of a site, whose rules it doesn't show."""
    random = np.random.default_rng(seed)
    logged = weeks_of_users(random, weeks, load=load)
    site = RULES[rules](Site(logged, machine_of(32), POLICIES["easy"]), random)
    path = folder / f"{rules}.swf"
    path.write_text(site_log(logged, site, native_replay()))
    return path


def reported(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[str, dict[str, Any]]:
    """What the command prints, and the section of its JSON report."""
    path = Path(str(words[0])).with_suffix(".json")
    for more in (("--verbose", "-o", path), ("-o", path.with_suffix(".md"))):
        with pytest.raises(SystemExit) as left:
            main(["usage", *map(str, words), *map(str, more)])
        assert not left.value.code
    text = " ".join(capsys.readouterr().out.split())
    return text, json.loads(path.read_text())["sections"][0]


@pytest.mark.slow
@pytest.mark.long
def test_a_log_of_the_models_own_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = planted(tmp_path, "easy", seed=1)
    text, section = reported(capsys, log, *WHAT_IFS)
    fit = section["findings"]["queue"]["fit"]
    assert fit["reproduced"] and fit["factor"] < 1.01 and fit["groups"] == []
    assert "more nodes shorten the mean wait by" in text
    assert "high confidence in the what-ifs: Modelled and real waits agree" in text
    assert {each["confidence"] for each in section["findings"]["queue"]["what_ifs"]} == {"high"}
    # The answer on use keeps its own confidence.
    _, alone = reported(capsys, log)
    use, what_ifs = section["confidences"]
    assert use["confidence"] == section["confidence"] == alone["confidence"]
    assert use["why"] == alone["confidence_why"] and "waits" not in use["why"]
    assert what_ifs["confidence"] == "high" and alone["confidences"] == []


@pytest.mark.slow
def test_a_scheduler_with_waits_30_times_as_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partitions that the model doesn't know: no change is stated as a verdict."""
    log = planted(tmp_path, "partitions", seed=2)
    text, section = reported(capsys, log, *WHAT_IFS)
    queue = section["findings"]["queue"]
    assert queue["real"]["wait"] > 30 * queue["replay"]["wait"]
    assert not queue["fit"]["reproduced"]
    for each in queue["what_ifs"]:
        assert each["confidence"] is None and each["sentence"] == ""
        assert "doesn't reproduce this scheduler" in each["confidence_why"]
    verdict = section["verdict"]
    assert verdict.startswith("The what-ifs `nodes=+25%` and `heartbeat=10%` are not answered.")
    assert "shorten" not in verdict and "no clear change" not in verdict
    assert "[" not in verdict.partition("not answered")[2].partition("Longer")[0]
    # What the model lacks, as far as the log shows: short requests have their own nodes.
    groups = {(each["kind"], each["name"]): each for each in queue["fit"]["groups"]}
    assert groups["request", "up to 1 h"]["direction"] == "less"
    assert "jobs that request up to 1 h" in verdict and "partitions" in verdict
    assert "what-ifs not answered: The model doesn't reproduce this scheduler" in text
    assert not any("Change of the mean wait" in each["label"] for each in section["evidence"])
    assert "queue-what-ifs" not in {each["id"] for each in section["figures"]}
    use, what_ifs = section["confidences"]
    assert use["confidence"] == section["confidence"] is not None
    assert what_ifs["confidence"] is None
    markdown = log.with_suffix(".md").read_text()
    assert "confidence in the use of the machine; what-ifs not answered)*" in markdown


@pytest.mark.slow
def test_the_policy_that_fits_is_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = planted(tmp_path, "fcfs", seed=3)
    _, section = reported(capsys, log, "--what-if", "nodes=+25%", "--resamples", "0")
    assert section["confidences"][-1]["confidence"] is None
    assert section["advice"][0].startswith("Repeat the what-ifs with `--model fcfs`")
    _, section = reported(capsys, log, *WHAT_IFS, "--model", "fcfs")
    assert section["confidences"][-1]["confidence"] == "high"


@pytest.mark.slow
@pytest.mark.long
def test_what_caps_the_confidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = planted(tmp_path, "easy", seed=1, weeks=5)
    _, section = reported(capsys, short, *WHAT_IFS)
    assert section["confidences"][-1]["confidence"] == "low"
    assert "8 are needed" in section["confidences"][-1]["why"]
    # A log that lacks every tenth job.
    lines = planted(tmp_path, "easy", seed=1).read_text().splitlines(keepends=True)
    lacking = tmp_path / "lacking.swf"
    lacking.write_text("".join(line for number, line in enumerate(lines) if number % 10))
    _, section = reported(capsys, lacking, *WHAT_IFS)
    confidence = section["confidences"][-1]
    assert confidence["confidence"] in ("low", None)


@pytest.mark.slow
def test_a_synthetic_load_says_what_its_confidence_refers_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("usage", "--synthetic", "lublin", "--jobs", "4000", "--load", "0.6", *WHAT_IFS)
    with pytest.raises(SystemExit):
        main([*words, "-o", str(tmp_path / "a.json")])
    capsys.readouterr()
    section = json.loads((tmp_path / "a.json").read_text())["sections"][0]
    assert "not to a real machine" in section["confidence_why"]
    assert section["confidences"] == []
