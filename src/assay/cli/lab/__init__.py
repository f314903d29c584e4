"""Create virtual clusters on this machine, from network namespaces, for measurements and tests.

Examples::

    assay lab up torus-2d  # 16 hosts in a 4 x 4 torus
    assay lab run torus-2d -- uname -n  # a command on its first host
    assay run network --lab torus-2d  # measure it
    assay lab down torus-2d  # remove it
"""
