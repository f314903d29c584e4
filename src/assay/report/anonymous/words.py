"""Words that stay within sentences, since they have their own meaning in a sentence."""

from __future__ import annotations

import functools
import re

from assay.kernels import kernels

# Words of reports that are also common names of hosts, users, systems and partitions.
_ORDINARY = """
account adapter address all and any app assay bandwidth barrier base batch best block broadcast
budget build cache caches cell cells clock cluster code command compact compute core cores cpu
cyclic data debug default disk domain embedded error fake file files for frontend gpu group head
high home host hosts imported job jobs kernel large launch launches less limit local login long low
machine main master max memory min more mpi network node nodes none normal numa off old order
own partition path paths placement plan plans precision process processor program project quick
random rank ranks rate reversed root run runs sample samples scratch server session short site
slow small socket software spread standard steady storage suite switch system test tests the
thread threads time tmp toolchain toolchains tools unknown user users wall worker work yes
"""


@functools.cache
def _vocabulary() -> frozenset[str]:
    """Ordinary words, and the words in the catalogue of kernels."""
    texts = [
        text
        for kernel in kernels()
        for text in (
            kernel.name,
            kernel.title,
            *(metric.name for metric in kernel.metrics),
            *(parameter.name for parameter in kernel.parameters),
            *(str(c) for parameter in kernel.parameters for c in parameter.choices),
        )
    ]
    found = re.findall(r"[a-z0-9]+", " ".join(texts).lower())
    return frozenset((*_ORDINARY.split(), *found))


def distinctive(name: str) -> bool:
    """Whether a name can be distinguished from words and numbers in a sentence.

    A single letter, a number and a word of reports can't be distinguished.
    """
    letters = sum(letter.isalpha() for letter in name)
    longer = len(name) >= 3 or (len(name) == 2 and not name.isalpha())
    return longer and letters > 0 and name.lower() not in _vocabulary()
