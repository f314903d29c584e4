#!/bin/sh
# Says in one sentence what this machine lacks for the set-up, and how to mend it.
# Usage: check-machine.sh PYTHON

python=$1

fail() {
    echo "assay: $1" >&2
    echo "       $2" >&2
    exit 2
}

command -v "$python" >/dev/null 2>&1 ||
    fail "There is no '$python' on PATH." \
        "Install Python 3.11 or newer (Debian: apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "'$python' is $("$python" --version 2>&1), and assay needs Python 3.11 or newer." \
        "Install one, or name one: make PYTHON=/path/to/python3.11"
"$python" -c 'import ensurepip, ssl, venv' >/dev/null 2>&1 ||
    fail "'$python' can't make virtual environments (its modules venv, ensurepip or ssl are missing)." \
        "Debian: apt-get install python3-venv"
compiler=${CXX:-g++}
command -v "$compiler" >/dev/null 2>&1 ||
    fail "There is no C++ compiler '$compiler' on PATH." \
        "Install one (Debian: apt-get install g++; Red Hat: dnf install gcc-c++), or name one: make CXX=/path/to/compiler"
