"""Wrong specifications and catalogues: one sentence with file, line and fix."""

from __future__ import annotations

import pytest

from assay.design.candidates import Builder
from assay.design.example import EXAMPLE
from assay.design.figures import UNCERTAINTY
from assay.design.parts.reading import read_parts, shipped_catalogues
from assay.design.search import search
from assay.design.spec.reading import read_spec, spec_of
from assay.errors import AssayError
from assay.toml import parse_toml
from design_specs import PARTS, SPEC, read, write_files

# Change of the specification: old text, new text, part of the sentence, line.
SPECS = [
    ("budget = 40000", "budget = -5", "'budget' can't be -5", 4),
    ("budget = 40000", "power = 3000", "'power' has no unit", 4),
    ("budget = 40000", 'power = "3000"', "'power' has no unit", 4),
    ("budget = 40000", 'power = "3 kB"', "in kB, but a quantity in W", 4),
    ("budget = 40000", "budgt = 40000", "Unknown key 'budgt'", 4),
    ("nodes = [1, 40]", "nodes = [40, 1]", "Nodes can't be from 40 to 1", 5),
    ("nodes = [1, 40]", "nodes = [1, 10000000]", "Nodes can't be from", 5),
    ("integer = 1", "integer = 0", "The weight of 'integer' can't be 0", 7),
    ("integer = 1", '"npb.cg.X" = 1', "'npb.cg.X' doesn't name a class", 7),
    ("integer = 1", '"npb.cq.A" = 1', "There is no workload 'npb.cq.A'", 7),
    ("integer = 1", "", "There is no workload to judge clusters by", None),
    ('["parts.toml"]', '["example-2025"]', "There is no catalogue 'example-2025'", 2),
    ('["parts.toml"]', '["nowhere.toml"]', "can't be read", None),
    ('["parts.toml"]', "[]", "The specification names no catalogue of parts", None),
    (
        "[limits]",
        'currency = "SEK"\n[limits]',
        "Prices are in USD, but the design is in SEK",
        None,
    ),
    ("[limits]", '[choose]\nnodes = ["smal"]\n[limits]', "No catalogue has 'smal'", 4),
    ("[limits]", "[search]\ndraws = 5\n[limits]", "'draws' can't be 5", 4),
]
# The same of the catalogue.
CATALOGUES = [
    ('currency = "USD"', "", "The catalogue has no currency", None),
    ("price = 1000", "price = -1", "'price' can't be -1", 15),
    ("price = 1000", "", "The node 'small' has no 'price'", 7),
    ('peak = "100 Gflop/s"', "peak = 100", "'peak' has no unit", 11),
    ('peak = "100 Gflop/s"', 'peak = "100"', "'peak' has no unit", 11),
    ('memory = "16 GiB"', 'memory = "16 GHz"', "in GHz, but a quantity in B", 14),
    ("cores = 4", "cores = 0", "'cores' can't be 0", 10),
    ("cores = 4", 'cores = "four"', "'node[0].cores' must be a whole number", 10),
    ('name = "large"', 'name = "small"', "There are two node parts 'small'", 21),
    ('switches = ["switch of 8"]', 'switches = ["other"]', "names the switch 'other'", None),
    ('switches = ["switch of 8"]', "", "needs switches for a fat-tree", None),
    ('cable = "copper"', 'cable = "glass"', "names the cable 'glass'", None),
    ('networks = ["ethernet"]', 'networks = ["etherne"]', "names the interconnect", None),
    ('topology = "torus-2d"', 'topology = "tours-2d"', "can't be 'tours-2d'", None),
    ("price = 1900", "price = { value = 1900, interval = [1, 2] }", "does not contain", None),
    ("price = 1900", 'price = { value = 1900, uncertainty = "x" }', "is not a quantity", None),
    ("[room]", "[roam]", "Unknown key 'roam'", None),
    ("ports = 8", "ports = 1", "'ports' can't be 1", 36),
    ('switches = ["switch of 8"]', 'switches = ["switch of 8"]\ntaper = 1e9', "'taper' can't", 55),
    ('dgemm = "80 Gflop/s"', 'dgemm = "800 Gflop/s"', "'small' is 8 times its peak", 12),
    (
        'rates = { integer = "1 Gop/s" }',
        'rates = { integer = "1 Gop/s", "npb.cg.C" = "1.3 Top/s" }',
        "The rate of npb.cg.C of 'small' is 13 times its peak",
        18,
    ),
    ("units = 2", "units = 100", "'large' is 100 units high, but a rack has 20", None),
    ("units = 1\n\n[[cable]]", "units = 21\n\n[[cable]]", "'switch of 8' is 21 units", None),
]


@pytest.mark.parametrize(("old", "new", "text", "line"), SPECS)
def test_a_wrong_specification_is_one_sentence(tmp_path, old, new, text, line):
    path = write_files(tmp_path, SPEC.replace(old, new, 1))
    with pytest.raises(AssayError) as raised:
        read_spec(path)
    assert text in raised.value.what
    assert line is None or raised.value.where == f"{path}:{line}"
    assert raised.value.fix


@pytest.mark.parametrize(("old", "new", "text", "line"), CATALOGUES)
def test_a_wrong_catalogue_is_one_sentence(tmp_path, old, new, text, line):
    assert old in PARTS
    path = write_files(tmp_path, parts=PARTS.replace(old, new, 1))
    with pytest.raises(AssayError) as raised:
        read_spec(path)
    assert text in raised.value.what
    assert line is None or raised.value.where == f"{tmp_path / 'parts.toml'}:{line}"


def test_prices_in_another_currency_are_exchanged(tmp_path):
    spec = read(tmp_path, 'currency = "SEK"\n' + SPEC + "[exchange]\nUSD = 10\n")
    node = spec.catalogue.nodes["small"]
    assert node.price.value == 10_000
    assert node.power.value == 200
    assert spec.catalogue.room.wage.value == 250
    assert spec.catalogue.room.assembly.value == 2  # hours


def test_a_figure_has_the_uncertainty_of_its_kind_unless_it_states_one(tmp_path):
    parts = PARTS.replace("price = 1000", 'price = { value = 1000, kind = "assumed" }').replace(
        'dgemm = "160 Gflop/s"',
        'dgemm = { value = "160 Gflop/s", interval = ["150 Gflop/s", "170 Gflop/s"], '
        'kind = "measured", source = "us", date = "2026-02" }',
    )
    spec = read(tmp_path, SPEC + '[uncertainty]\nassumed = "50%"\n', parts)
    small, large = spec.catalogue.nodes["small"], spec.catalogue.nodes["large"]
    assert small.price.interval == pytest.approx((1000 / 1.5, 1500))
    assert small.power.interval == pytest.approx((200 / 1.1, 220))
    assert large.dgemm.interval[1] / large.dgemm.interval[0] == pytest.approx(170 / 150)
    assert (large.dgemm.kind, large.dgemm.source, large.dgemm.date) == ("measured", "us", "2026-02")
    assert (small.price.source, small.price.date) == ("a test", "2026-01")


def test_the_example_and_all_shipped_catalogues_can_be_used(tmp_path):
    path = tmp_path / "example.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    spec = read_spec(path)
    assert len(search(spec, Builder(spec)).count) > 100
    assert "example-2026" in shipped_catalogues()
    for name in shipped_catalogues():
        text = f'catalogues = ["{name}"]\n[workload]\nlinpack = 1\n[limits]\nnodes = [2, 16]\n'
        text += "[exchange]\nEUR = 1\nUSD = 1\n"
        found = spec_of(parse_toml(text, path))
        assert found.catalogue.nodes


def test_parts_of_a_file_keep_their_lines(tmp_path):
    write_files(tmp_path)
    file = read_parts(tmp_path / "parts.toml", UNCERTAINTY)
    assert file.parts["node"]["small"].price.where == f"{tmp_path / 'parts.toml'}:15"
