"""The works that reports refer to, as BibTeX. ``docs/methods/sources.md`` lists them, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay.version import VERSION

# Each entry: its kind, and its fields in LaTeX.
_WORKS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "assay": (
        "misc",
        {
            "author": "{The assay maintainers}",
            "title": "{assay: what an HPC cluster is worth}",
            "note": f"Version {VERSION}",
        },
    ),
    "hoefler2015": (
        "inproceedings",
        {
            "author": "Hoefler, Torsten and Belli, Roberto",
            "title": "Scientific benchmarking of parallel computing systems",
            "booktitle": "Proceedings of the International Conference for High Performance "
            "Computing, Networking, Storage and Analysis (SC15)",
            "year": "2015",
            "doi": "10.1145/2807591.2807644",
        },
    ),
    "mccalpin1995": (
        "techreport",
        {
            "author": "McCalpin, John D.",
            "title": "Sustainable memory bandwidth in current high performance computers",
            "institution": "Silicon Graphics",
            "year": "1995",
        },
    ),
    "bailey1994": (
        "techreport",
        {
            "author": "Bailey, David and others",
            "title": "The {NAS} {Parallel} {Benchmarks}",
            "institution": "NASA Ames Research Center",
            "number": "RNR-94-007",
            "year": "1994",
        },
    ),
    "dongarra2003": (
        "article",
        {
            "author": "Dongarra, Jack J. and Luszczek, Piotr and Petitet, Antoine",
            "title": "The {LINPACK} benchmark: past, present and future",
            "journal": "Concurrency and Computation: Practice and Experience",
            "volume": "15",
            "number": "9",
            "pages": "803--820",
            "year": "2003",
        },
    ),
    "heroux2013": (
        "techreport",
        {
            "author": "Heroux, Michael A. and Dongarra, Jack and Luszczek, Piotr",
            "title": "{HPCG} technical specification",
            "institution": "Sandia National Laboratories",
            "number": "SAND2013-8752",
            "year": "2013",
        },
    ),
    "dongarra2016": (
        "article",
        {
            "author": "Dongarra, Jack and Heroux, Michael A. and Luszczek, Piotr",
            "title": "High-performance conjugate-gradient benchmark: a new metric for ranking "
            "high-performance computing systems",
            "journal": "International Journal of High Performance Computing Applications",
            "volume": "30",
            "year": "2016",
        },
    ),
    "kunkel2016": (
        "misc",
        {
            "author": "Kunkel, Julian and Bent, John and Lofstead, Jay and Markomanolis, George S.",
            "title": "Establishing the {IO-500} benchmark",
            "howpublished": "White paper",
            "year": "2016",
        },
    ),
}


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these works, in the order of their keys."""
    return "\n".join(_entry(key) for key in sorted(set(keys)))


def _entry(key: str) -> str:
    kind, fields = _WORKS[key]
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
