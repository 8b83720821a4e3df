#!/bin/sh
# Makes the virtual environment of the peers.  Usage: setup.sh DIR
# Downloads some 3 GB from the Python package index the first time: PyTorch's wheel there cannot be imported without
# CUDA's libraries, though none of them is used. With everything in place it is done at once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:?usage: setup.sh DIR}
cmp -s "$here/requirements.txt" "$venv/ready" && exit 0
echo "making $venv"
python3 -m venv --clear "$venv"
# The list is complete, so that no dependency is looked up, nor one installed that is not in it.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
cp "$here/requirements.txt" "$venv/ready"
