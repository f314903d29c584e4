"""Importers of message benchmarks: recorded outputs and the expected numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing_probe import Read, output, probe


def test_osu_5(read: Read) -> None:
    found = read("osu-5.6.out")
    assert found.skipped == []
    assert {result.version for result in found.results} == {"5.6.2"}
    assert found.value("osu_latency", "time", bytes=0) == 0.53e-6
    assert found.value("osu_latency", "time", bytes=4194304) == 612.47e-6
    assert found.value("osu_bw", "bandwidth", bytes=4194304) == 11823.05e6
    assert found.value("osu_mbw_mr", "bandwidth", bytes=8, pairs=2, window_size=64) == 47.12e6
    assert found.value("osu_mbw_mr", "rate", bytes=16384) == 636765.90
    assert found.value("osu_allreduce", "time", bytes=4) == 2.11e-6
    assert found.value("osu_allreduce", "time.min", bytes=4) == 2.05e-6
    assert found.value("osu_allreduce", "time.max", bytes=1048576) == 1499.87e-6
    assert found.value("osu_allreduce", "iterations", bytes=1048576) == 100
    assert found.value("osu_barrier", "time") == 1.87e-6
    assert found.value("osu_iallreduce", "time.overall", bytes=8192) == 31.05e-6
    assert found.value("osu_iallreduce", "time.pure_comm", bytes=8192) == 14.98e-6
    assert found.value("osu_iallreduce", "overlap", bytes=8192) == 0.1234
    assert found.value("osu_init", "time", ranks=4) == 0.219
    assert found.value("osu_init", "time.max", ranks=4) == 0.223
    assert sum(len(result.series) for result in found.results) == 3 + 2 + 4 + 8 + 1 + 8 + 3


def test_osu_3(read: Read) -> None:
    found = read("osu-3.1.out")
    assert found.values("osu_bibw", "bi_bandwidth") == [1.27e6, 1867.40e6]
    assert found.results[0].version == "3.1.1"


def test_osu_7_with_validation_and_tails(read: Read) -> None:
    found = read("osu-7.out")
    assert found.skipped == []
    assert found.value("osu_latency", "time", bytes=1, device="CUDA") == 2.93e-6
    assert [result.verified for result in found.results] == [True, False, None, None]
    put = {"window_creation": "MPI_Win_allocate", "synchronization": "MPI_Win_flush"}
    assert found.value("osu_put_latency", "time", bytes=4, **put) == 1.62e-6
    assert found.value("osu_put_latency", "time.p99_tail_lat", bytes=4) == 2.40e-6
    assert found.value("osu_alltoall", "time", bytes=2, datatype="MPI_CHAR") == 12.50e-6


def test_osu_programs_are_named_after_their_executables(tmp_path: Path) -> None:
    for title, code in (
        ("MPI Broadcast Latency", "osu_bcast"),
        ("MPI Reduce_scatter Latency", "osu_reduce_scatter"),
        ("MPI All-to-All Personalized Exchange Latency", "osu_alltoall"),
        ("MPI Non-blocking All-to-Allv Personalized Exchange Latency", "osu_ialltoallv"),
        ("MPI Multi-threaded Latency", "osu_latency_mt"),
        ("MPI_Accumulate latency", "osu_acc_latency"),
        ("MPI_Get Bandwidth", "osu_get_bw"),
        ("MPI_Put Bi-directional Bandwidth", "osu_put_bibw"),
        ("OpenSHMEM Put", "osu_openshmem_put"),
    ):
        text = f"# OSU {title} Test v5.9\n# Size          Latency (us)\n8                 1.25\n"
        assert [r.code for r in probe(text, tmp_path / "output").results] == [code]


def test_comments_of_osu_are_not_table_headers(tmp_path: Path) -> None:
    comment = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n# Size"
    found = probe(output("osu-3.1.out").replace("# Size", comment), tmp_path / "output")
    assert found.values("osu_bibw", "bi_bandwidth") == [1.27e6, 1867.40e6]
    assert found.skipped == []


def test_a_row_of_osu_that_is_damaged_is_named(tmp_path: Path) -> None:
    text = output("osu-3.1.out").replace("1867.40", "18x7.40")
    found = probe(text, tmp_path / "output")
    assert found.values("osu_bibw", "bi_bandwidth") == [1.27e6]
    assert found.skipped == [(4, "'18x7.40' is not a number.")]


def test_imb_2019(read: Read) -> None:
    found = read("imb-2019.out")
    assert found.skipped == []
    assert {result.version for result in found.results} == {"2019 Update 6"}
    assert found.value("imb.pingpong", "time", bytes=0, ranks=2) == 1.12e-6
    assert found.value("imb.pingpong", "bandwidth", bytes=4194304) == 10170.48e6
    assert found.value("imb.pingpong", "repetitions", bytes=4194304) == 10
    assert found.value("imb.allreduce", "time", bytes=1048576, ranks=4) == 905.66e-6
    assert found.value("imb.allreduce", "time.min", bytes=1048576) == 899.13e-6
    assert found.value("imb.allreduce", "time.max", bytes=4) == 2.94e-6
    assert found.value("imb.uniband", "bandwidth", bytes=8) == 28.44e6
    assert found.value("imb.uniband", "rate", bytes=8) == 3555123
    assert found.value("imb.barrier", "time", ranks=4) == 1.92e-6


def test_imb_3_counts_mbytes_in_powers_of_two(read: Read) -> None:
    found = read("imb-3.1.out")
    assert found.value("imb.sendrecv", "bandwidth", bytes=1048576) == 1057.97 * 2**20
    assert found.results[0].version == "3.1"


def test_bandwidths_of_a_version_whose_megabyte_is_unknown_are_left_out(tmp_path: Path) -> None:
    text = output("imb-2017.out").replace(
        "         1         1000         1.14         0.84",
        "         1         1000         1.14         0.9",
    )
    found = probe(text, tmp_path / "output")
    assert found.values("imb.pingpong", "bandwidth", bytes=1) == []
    assert found.value("imb.pingpong", "time", bytes=1) == 1.14e-6
    assert [what for _, what in found.skipped] == [
        "Bandwidths are left out: in this version Mbytes may be 10^6 or 2^20 bytes."
    ]


def test_the_megabyte_of_imb_2017_follows_from_size_and_time(read: Read, tmp_path: Path) -> None:
    """Planted: 1,048,576 B in 110.04 us are 9087.60 Mbytes of 2^20 bytes, 9529.04 of 10^6."""
    found = read("imb-2017.out")
    assert found.skipped == []
    assert found.values("imb.pingpong", "bandwidth", bytes=1048576) == [9087.60 * 2**20]
    # The row of 0 bytes, and a table whose only row is not precise enough by itself.
    assert found.values("imb.pingpong", "bandwidth", bytes=0) == [0.0]
    assert found.value("imb.exchange", "bandwidth", bytes=8, ranks=4) == 15.26 * 2**20
    assert found.value("imb.sendrecv", "bandwidth", bytes=65536) == 5242.88e6
    assert found.value("imb.sendrecv", "time.max", bytes=65536) == 25e-6
    # Its other unit, and a version of 2019 under this name.
    decimal = output("imb-2017.out").replace("9087.60", "9529.04").replace("454.22", "476.28")
    found = probe(decimal, tmp_path / "output")
    assert found.values("imb.pingpong", "bandwidth", bytes=1024) == [476.28e6]
    text = output("imb-2019.out").replace("2019 Update 6", "2017 Update 2")
    found = probe(text, tmp_path / "output")
    assert found.value("imb.pingpong", "bandwidth", bytes=4194304) == 10170.48e6


def test_contradicting_rows_do_not_determine_the_megabyte(tmp_path: Path) -> None:
    text = output("imb-2017.out").replace("9087.60", "9529.04")
    found = probe(text, tmp_path / "output")
    assert found.values("imb.pingpong", "bandwidth", bytes=1024) == []
    assert found.skipped[0][0] == 12


def test_netpipe_3_counts_in_powers_of_two(read: Read) -> None:
    found = read("netpipe-3.out")
    assert found.skipped == []
    assert found.value("netpipe", "bandwidth", bytes=65536) == 8000.25 * 2**20 / 8
    assert found.value("netpipe", "time", bytes=1) == 8.57e-6
    assert found.value("netpipe", "repetitions", bytes=2) == 11662


def test_netpipe_5_counts_in_powers_of_ten(read: Read) -> None:
    found = read("netpipe-5.out")
    assert found.skipped == []
    assert found.value("netpipe", "bandwidth", bytes=1) == 4e6 / 8
    assert found.value("netpipe", "bandwidth", bytes=2000) == 3.2e9 / 8


def test_netpipe_s_file_of_results_has_powers_of_two(read: Read) -> None:
    found = read("netpipe-np.out")
    assert found.skipped == []
    assert found.values("netpipe", "time") == [3.5e-6, 3.75e-6, 8.25e-6, 62.5e-6, 0.0009]
    assert found.value("netpipe", "bandwidth", bytes=65536) == 8000.0 * 2**17
    assert found.value("netpipe", "bandwidth", bytes=4) == 8.719308 * 2**17


def test_three_numbers_that_do_not_fit_are_not_netpipe_s(tmp_path: Path) -> None:
    # Powers of ten, and a table of another program.
    text = "   65536 8388.608000   0.00006250\n       2 1.500000   0.25000000\n"
    found = probe(text, tmp_path / "output")
    assert found.results == []
    assert [line for line, _ in found.skipped] == [1, 2]


def test_netpipe_with_the_labels_of_ranks(tmp_path: Path) -> None:
    lines = output("netpipe-3.out").splitlines(keepends=True)
    found = probe("".join(f"0: {line}" for line in lines), tmp_path / "output")
    assert found.values("netpipe", "time") == [8.57e-6, 11.23e-6, 62.5e-6]


def test_mpptest(read: Read) -> None:
    found = read("mpptest.out")
    assert found.skipped == []
    assert found.values("mpptest", "time") == [2.25e-6, 4.5e-6]
    assert found.values("mpptest", "bandwidth", bytes=1024, distance=1) == [2.2755e8]


def test_goptest(read: Read) -> None:
    found = read("mpptest-goptest.out")
    assert found.skipped == [(11, "This row of goptest is damaged.")]
    # The sizes stand after the rows: the first column is the last size that is named.
    for ranks, times in ((2, (4.25, 6.125, 9.5)), (4, (9.8125, 14.0625, 21.375))):
        for size, time in zip((0, 512, 1024), times, strict=True):
            value = found.value("goptest.dsum", "time", ranks=ranks, size=size)
            assert value == pytest.approx(time * 1e-6, rel=1e-15)
    assert found.value("goptest.sync", "time", ranks=16, size=0) == 31.25e-6
    assert len(found.results) == 7


def test_goptest_without_sizes_or_operation_yields_nothing(tmp_path: Path) -> None:
    text = output("mpptest-goptest.out")
    found = probe(text.replace(" 'type = dsum'\n", ""), tmp_path / "output")
    assert found.values("goptest.dsum", "time") == []
    assert found.skipped == [(7, "The operation of this table of goptest is not named.")]
    found = probe(text.replace("join '512'\n", ""), tmp_path / "output")
    assert found.values("goptest.dsum", "time") == []
    assert found.skipped == [(8, "The sizes of this table of goptest are not complete.")]


def test_netpipe_5_s_file_of_results_has_gigabits_and_microseconds(read: Read) -> None:
    found = read("netpipe-5-file.out")
    assert found.skipped == []
    assert found.values("netpipe", "time") == [2.02e-6, 2.04e-6, 5e-6, 112e-6, 819.2e-6]
    assert found.value("netpipe", "bandwidth", bytes=1048576) == 74.899e9 / 8
    assert found.value("netpipe", "bandwidth.min", bytes=8192) == 12.911e9 / 8
    assert found.value("netpipe", "bandwidth.max", bytes=4194307) == 41.010e9 / 8


def test_rates_of_several_pairs_are_not_one_pair_s(tmp_path: Path) -> None:
    text = output("netpipe-5-file.out").replace("13.107", "26.214").replace("13.300", "27.000")
    found = probe(text, tmp_path / "output")
    assert found.skipped == [(3, "Size, rate and time of this row are inconsistent.")]
    assert found.values("netpipe", "bandwidth", bytes=8192) == []


def test_netpipe_5_rounds_its_sizes(tmp_path: Path) -> None:
    rows = "  1:   1.024 KB      1000 times -->    8.192 Gbps  in    1.000 usecs\n"
    rows += "  2:   1.049 MB       100 times -->   83.886 Gbps  in  100.000 usecs\n"
    found = probe(rows, tmp_path / "output")
    assert found.skipped == []
    assert found.value("netpipe", "time", bytes=1024) == 1e-6
    assert found.value("netpipe", "bandwidth", bytes=1049000) == 83.886e9 / 8
