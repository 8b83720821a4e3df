#!/bin/sh
# Has TensorBoard read Tenon's summaries.  Usage: tensorboard.sh SUMMARY_TOOL [VENV]
# TENON_TENSORBOARD_PYTHON names a python that has TensorBoard; without it one is made in VENV
# (build/tensorboard-venv), which downloads some 40 MB the first time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=${1:?usage: tensorboard.sh SUMMARY_TOOL [VENV]}
venv=${2:-$here/../../build/tensorboard-venv}
python=${TENON_TENSORBOARD_PYTHON:-}
if [ -z "$python" ]; then
  python=$venv/bin/python
  if ! cmp -s "$here/tensorboard.txt" "$venv/ready"; then
    python3 -m venv --clear "$venv"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/tensorboard.txt"
    cp "$here/tensorboard.txt" "$venv/ready"
  fi
fi
exec "$python" "$here/check_tensorboard.py" "$tool"
