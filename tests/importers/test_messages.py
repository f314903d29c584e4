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
        ("MPI_Fetch_and_op latency", "osu_fop_latency"),
        ("MPI_Compare_and_swap latency", "osu_cas_latency"),
        ("MPI Allreduce Persistent Latency", "osu_allreduce_persistent"),
        ("MPI Neighborhood Alltoall Latency", "osu_neighbor_alltoall"),
        ("MPI Non-blocking Neighborhood Allgather Latency", "osu_ineighbor_allgather"),
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


def test_imb_2021_one_sided_and_persistent(read: Read) -> None:
    found = read("imb-2021.out")
    assert found.skipped == []
    assert found.value("imb.unidir_put", "time", bytes=64, mode="NON-AGGREGATE") == 1075.36e-6
    assert found.value("imb.unidir_put", "time", bytes=16, mode="AGGREGATE") == 7.00e-6
    assert found.value("imb.accumulate", "bandwidth", bytes=64, mode="NON-AGGREGATE") == 39.38e6
    assert found.value("imb.fetch_and_op", "time", bytes=4, ranks=2) == 16.38e-6
    assert found.value("imb.truly_passive_put", "time.pure", bytes=8) == 110.87e-6
    assert found.value("imb.truly_passive_put", "time.overall", bytes=8) == 258.36e-6
    assert found.value("imb.bcast_persist", "time.overall", bytes=64) == 1.89e-6
    assert found.value("imb.bcast_persist", "overlap", bytes=64) == 0.2436


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


def test_gpcnet_of_64_nodes(read: Read) -> None:
    found = read("gpcnet-load.out")
    assert found.skipped == []
    nodes = {"ranks": 2048, "nodes": 64, "test_nodes": 13, "congestor_nodes": 51}
    quiet = {"load": "none", "program": "network_load_test", **nodes}
    latency = "gpcnet.rr_two_sided_lat"
    assert found.value(latency, "time", bytes=8, **quiet) == 2.9e-6
    assert found.value(latency, "time.tail_99", load="congestors") == 4.3e-6
    assert found.value("gpcnet.multiple_allreduce", "time", load="congestors") == 20.3e-6
    assert found.value("gpcnet.multiple_allreduce", "impact", load="congestors", **nodes) == 1.0
    bandwidth = ("gpcnet.rr_two_sided_bw_sync", "bandwidth_per_rank")
    assert found.value(*bandwidth, bytes=131072, **quiet) == 4061.4 * 2**20
    assert found.value(bandwidth[0], "bandwidth_per_rank.tail_99", **quiet) == 2829.5 * 2**20
    assert {result.version for result in found.results} == {"1.3"}
    assert sum(len(result.series) for result in found.results) == 18


def test_gpcnet_of_a_verbose_build(read: Read) -> None:
    found = read("gpcnet-verbose.out")
    assert found.skipped == []
    code = "gpcnet.rr_two_sided_lat"
    assert found.value(code, "time.min", load="none") == 36.7e-6
    assert found.value(code, "time.worst_rank", load="none") == 100.2e-6
    assert found.value(code, "time.tail_99_9", load="congestors") == 11430.1e-6
    assert found.value(code, "impact", load="congestors") == 6.2
    incast = "gpcnet.two_sided_incast"
    assert found.value(incast, "bandwidth_per_rank", load="none") == 2119.2 * 2**20
    beside = {"load": "congestors", "beside": "Multiple Allreduce"}
    assert found.value(incast, "bandwidth_per_rank.max", **beside) == 1193.5 * 2**20
    assert found.value("gpcnet.multiple_allreduce", "impact.tail_99") == 3.6
    assert sum(len(result.series) for result in found.results) == 22 * 6 + 6


def test_gpcnets_network_test(read: Read) -> None:
    found = read("gpcnet-network.out")
    assert found.skipped == []
    one = {"program": "network_test", "nodes": 2}
    assert found.value("gpcnet.rr_get_lat", "time", **one) == 0.1e-6
    assert found.value("gpcnet.multiple_alltoall", "bandwidth_per_rank", **one) == 43.8 * 2**20
    assert len(found.results) == 8


def test_rows_of_gpcnet_without_their_table_are_named(tmp_path: Path) -> None:
    text = output("gpcnet-load.out")
    row = "|        Multiple Allreduce (8 B) |         20.3 |         22.2 |         usec |"
    skipped = {
        row.replace("20.3", "nan "): "'nan' is not a number above 0.",
        row.replace("usec", "sec "): "The unit 'sec' or a column is unknown.",
        row.replace("(8 B)", "(8 B "): "'Multiple Allreduce (8 B' is not a name of a test",
        row.replace("20.3 |", "20.3  "): "This row of GPCNeT belongs to no table",
    }
    for damaged, why in skipped.items():
        found = probe(text.replace(row, damaged), tmp_path / "output")
        assert len(found.results) == 8
        (line, said), *others = found.skipped
        assert (line, others) == (33, [])
        assert said.startswith(why)
    # Of another section's columns, or of an unknown section, nothing is read.
    unknown = probe(text.replace("Isolated Network", "Insulated Network"), tmp_path / "output")
    assert len(unknown.results) == 6
    assert [line for line, _ in unknown.skipped] == [13, 17, 19, 21]
    bare = text.replace("1.0X |                1.0X |\n", "1.0  | 1.0X |\n")
    factors = probe(bare, tmp_path / "output")
    assert len(factors.results) == 6
    assert all("is not a factor" in said for _, said in factors.skipped)


def test_overlap_of_operations_without_a_size(tmp_path: Path) -> None:
    """As osu_ibarrier 7.4 and IMB-NBC 2021.11 print it."""
    text = (
        "# OSU MPI Non-blocking Barrier Latency Test v7.4\n"
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "# Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
        "       5.61              2.80              3.10             9.35\n\n"
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-NBC part\n"
        "# Benchmarking Ibarrier \n# #processes = 2 \n"
        " #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n"
        "           20         6.40         3.20         3.60        11.11\n"
    )
    found = probe(text, tmp_path / "output")
    osu = {"time.overall": 5.61e-6, "time.compute": 2.80e-6, "time.pure_comm": 3.10e-6}
    imb = {"time.overall": 6.40e-6, "time.pure": 3.20e-6, "time.cpu": 3.60e-6}
    for code, times, share in (("osu_ibarrier", osu, 0.0935), ("imb.ibarrier", imb, 0.1111)):
        for metric, value in times.items():
            assert found.value(code, metric) == pytest.approx(value)
        assert found.value(code, "overlap") == pytest.approx(share)
