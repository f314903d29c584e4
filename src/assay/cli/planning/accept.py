"""Accept or reject a machine by a contract: what was promised, what was measured.

Examples::

    assay accept --example > contract.toml  # a contract to begin with
    assay accept contract.toml --plan  # how many launches and nodes a decision takes
    assay accept contract.toml --plan --run 20260301T0910  # by the variation of an earlier run
    assay accept contract.toml --measure  # measure what is promised, then judge it
    assay accept contract.toml --measure --submit  # in jobs of the batch scheduler
    assay accept contract.toml --run 20260301T0910 --run 20260302T0910
    assay accept contract.toml --run 20260301T0910 --html  # the verdict as a page
    assay accept contract.toml --run 20260301T0910 --worksheet filled-in.xlsx
    assay accept contract.toml --run 20260301T0910 --outages outages.csv
    assay accept --example network > contract.toml  # or processor, throughput, storage
    assay accept contract.toml --run 20260301T0910 --bundle lot1.tar.gz --sign ~/.ssh/id_ed25519
    assay accept contract.toml --verify received.tar.gz --allowed-signers signers
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.options import (
    ConfigFile,
    FakeMachine,
    Flag,
    JsonFindings,
    LabName,
    RandomSeed,
    ReportFormat,
    ReportHtml,
    ReportLines,
    ReportOutput,
    ReportPage,
    RunsFolder,
    SchedulerAccount,
    SchedulerPartition,
    SiteProfile,
    Verbose,
)


def accept(
    contract: Path | None = None,
    *,
    run: Annotated[
        list[str] | None, Parameter(name="--run", negative=(), consume_multiple=False)
    ] = None,
    plan: Flag = False,
    measure: Flag = False,
    budget: str | None = None,
    submit: Flag = False,
    here: Flag = False,
    walltime: str | None = None,
    partition: SchedulerPartition = None,
    account: SchedulerAccount = None,
    app: str | None = None,
    time: str | None = None,
    verify_output: str | None = None,
    timeout: str | None = None,
    seed: RandomSeed = None,
    site: SiteProfile = None,
    lab: LabName = None,
    fake: FakeMachine = None,
    example: Flag = False,
    outages: Annotated[
        list[Path] | None, Parameter(name="--outages", negative=(), consume_multiple=False)
    ] = None,
    worksheet: Path | None = None,
    bundle: Path | None = None,
    sign: Path | None = None,
    verify: Path | None = None,
    allowed_signers: Path | None = None,
    runs: RunsFolder = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    page: ReportPage = False,
    verbose: Verbose = False,
    config: ConfigFile = None,
    json: JsonFindings = False,
) -> int:
    """Judge stored runs by the commitments of a contract, at the risks that it states.

    Exits with 0 if the machine is accepted, 1 if it is rejected, and 3 if the runs don't decide.
    With --plan, exits with 3 if the contract's launches can't decide it. With --verify, exits with
    0 if the archive is intact and its runs give the same numbers, and with 1 otherwise.

    Parameters
    ----------
    contract
        The contract (docs/formats/contract.md).
    run
        A run or a group of runs to judge: its folder, or a unique part of its name. May be given
        several times.
    plan
        Print how many launches, nodes and hours decide each commitment. Runs give the variation.
    measure
        Measure what the contract commits to until it is decided, and judge it. Measuring that was
        interrupted is continued.
    budget
        Time for all launches, such as "1 h" [default: at most 20 s for each launch of a cell].
    submit
        Measure in jobs of the batch scheduler [default if assay.toml has a [scheduler]].
    here
        Measure on this machine even if assay.toml has a [scheduler].
    walltime
        Walltime of each job, such as "2 h" [default: an estimate, limited as in assay.toml].
    app
        The command of commitments on "app", such as "mpirun -n {ranks} ./a.out", as in `assay run`.
    time
        A regular expression for the time in seconds in the command's output [default: assay times
        the command].
    verify_output
        A regular expression that the output matches if the result is correct.
    timeout
        Maximum time of the command.
    example
        Print a contract to begin with: the general one, or the one named in place of a contract
        (processor, throughput, network or storage).
    outages
        A log of outages, for a promised availability: a table (CSV), or the output of
        `sacctmgr -P show event`. May be given several times.
    worksheet
        Write the filled-in worksheet to this file, which ends in .xlsx or .csv.
    bundle
        Also write contract, judged runs, findings and the list of all attempts into this file
        (.tar.gz).
    sign
        Sign the archive with this private key of OpenSSH.
    verify
        Verify an archive of --bundle: its files, its signature, and each number from the runs'
        records. If the contract is given, the archive must be about it.
    allowed_signers
        A file of allowed signers (ssh-keygen(1)): the archive must be signed by one of them.
    output
        The file to write, or its folder [default: acceptance.html and so on in the working
        directory].
    """
    from assay.acceptance.example import example_contract

    if example:
        print(example_contract("" if contract is None else str(contract)), end="")
        return 0
    from assay.acceptance.measured import items_of, read_measured
    from assay.acceptance.plan import plan_of
    from assay.acceptance.reading.contracts import read_contract
    from assay.campaign.commands.contract_runs import MeasuringOptions, measured_runs
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.errors import INTERRUPTED
    from assay.report.acceptance.build import present_acceptance
    from assay.report.acceptance.judging import judge
    from assay.report.acceptance.plan_terminal import print_plan
    from assay.report.acceptance.request import check_archive, checked_contract, checked_runs
    from assay.report.acceptance.verified_terminal import present_verified, print_bundled
    from assay.report.acceptance.worksheet import checked_worksheet, write_worksheet
    from assay.report.destination import destination
    from assay.subjects.acceptance.findings import STATUS

    target = destination(
        format_, output, Path("acceptance.html"), html=html, lines=lines, page=page, json=json
    )
    check_archive(
        run,
        plan=plan,
        bundle=bundle,
        key=sign,
        verify=verify,
        signers=allowed_signers,
        target=target,
        others={
            "--measure": measure,
            "--worksheet": worksheet is not None,
            "--outages": bool(outages),
        },
    )
    if verify is not None:
        return present_verified(verify, contract, allowed_signers, None if json else console())
    sheet = checked_worksheet(worksheet, plan=plan)
    agreed = read_contract(checked_contract(contract))
    settings = load_config(config, site)
    root = runs or settings.runs
    given = MeasuringOptions(
        measure=measure,
        budget=budget,
        submit=submit,
        here=here,
        walltime=walltime,
        partition=partition,
        account=account,
        app=app,
        time=time,
        verify=verify_output,
        timeout=timeout,
        seed=seed,
        lab=lab,
        fake=fake,
    )
    names = measured_runs(agreed, run or [], given, settings, root, plan=plan)
    if names is None:
        return INTERRUPTED
    names = checked_runs(names, agreed, plan=plan, target=target)
    if plan:
        planned = plan_of(agreed, items_of(agreed, read_measured(root, names)))
        if json:
            print_json(planned)
        else:
            print_plan(planned, agreed, console())
        return 0 if planned.decidable else STATUS["undecided"]
    judged = judge(agreed, root, names, outages or (), bundle=bundle, key=sign)
    screen = None if json else console()
    present_acceptance(judged.found, judged.measured, screen, target, verbose=verbose)
    write_worksheet(judged.found, sheet, screen)
    if judged.request is not None:
        print_bundled(judged.request.path, judged.bundle(), screen)
    return STATUS[judged.found.outcome]
