"""How a modelled scheduler orders, places, starts and ends jobs."""

from __future__ import annotations

from typing import Literal

import msgspec

Order = Literal["fcfs", "multifactor", "maui"]
Backfill = Literal["none", "easy", "conservative", "slurm"]
Sharing = Literal["node", "processor"]


class Multifactor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Slurm's multifactor priority: the sum of weight × factor, each factor in [0, 1].

    As documented for the plugin priority/multifactor with the classic fair share: ``age`` grows to
    1 in ``max_age`` (s); ``size`` is the job's share of nodes and processors (with ``favor_small``,
    1 minus this share); ``fair_share`` is 2^(−usage ÷ shares ÷ ``damping``) of usage that decays
    with ``half_life`` (s) and is updated every ``period`` (s); ``qos`` and ``partition`` are the
    normalised priorities.
    """

    age: float = 0.0
    size: float = 0.0
    fair_share: float = 0.0
    qos: float = 0.0
    partition: float = 0.0
    max_age: float = 7 * 86400.0
    favor_small: bool = False
    half_life: float = 7 * 86400.0
    period: float = 300.0
    damping: float = 1.0
    #: Shares of accounts or users by name; 1 for a name that is absent.
    shares: dict[str, float] = {}
    #: Priorities by name. They are computed again every ``period``.
    qos_priority: dict[str, float] = {}


class Maui(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Maui's priority: the weighted sum of its documented components.

    ``queue_time`` per minute of waiting, ``expansion`` × (wait + limit) ÷ limit, ``processors`` per
    processor, ``fair_share`` × (target − usage in percent) over ``windows`` windows of ``window``
    (s), each weighted by ``decay`` times the one after it.
    """

    queue_time: float = 1.0
    expansion: float = 0.0
    processors: float = 0.0
    fair_share: float = 0.0
    window: float = 86400.0
    windows: int = 7
    decay: float = 0.8
    #: Target in percent, by user.
    targets: dict[str, float] = {}


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the scheduler looks at the queue, s. By default it does so at each event, without
    delay."""

    #: Interval of the pass that starts jobs in order (0: a pass at each submission and end).
    main: float = 0.0
    #: Least time between two such passes that only submissions caused (Slurm's
    #: ``batch_sched_delay``). Nodes that become free cause a pass at once.
    delay: float = 0.0
    #: If above 0, these passes happen only at multiples of this period, which count from
    #: ``tick_offset`` after the first submission.
    tick: float = 0.0
    tick_offset: float = 0.0
    #: Interval of backfilling (0: with each pass). The first pass is ``offset`` after the first
    #: submission.
    backfill: float = 0.0
    offset: float = 0.0
    #: Times of the plan are rounded up to a multiple of this.
    resolution: float = 0.0
    #: Number of jobs that one pass looks at (0: all).
    depth: int = 0
    #: How far the plan reaches, s (0: without limit).
    window: float = 0.0
    #: Time from the decision to the start of the job's program. ``done``: time from the program's
    #: end until its nodes are free. The nodes are allocated during both.
    launch: float = 0.0
    done: float = 0.0


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``order`` of the queue and ``backfill``, with ``reservations`` for this many blocked jobs.

    EASY reserves for the first blocked job (``reservations`` = 1, or more as Maui's
    RESERVATIONDEPTH), conservative for all.
    """

    order: Order = "fcfs"
    backfill: Backfill = "easy"
    reservations: int = 1
    #: Whether a job takes any nodes or consecutive ones.
    allocation: Literal["free", "contiguous"] = "free"
    #: Whether a reservation takes the nodes that become free last, or the lowest ones.
    reserved: Literal["latest", "lowest"] = "latest"
    #: Whether a node runs one job at a time ("node"), or all jobs that fit by processors, memory
    #: and GPUs ("processor").
    sharing: Sharing = "node"
    #: Whether jobs end at their requested time.
    kill: bool = True
    #: Whether jobs that a failed node ended start over.
    requeue: bool = True
    #: Whether killed jobs are submitted again with twice the requested time. Their work is lost.
    resubmit: bool = False
    multifactor: Multifactor = Multifactor()
    maui: Maui = Maui()
    timing: Timing = Timing()
