#!/bin/sh
# Compares Tenon's files with TensorFlow's.  Usage: run.sh BUNDLE_TOOL [VENV]
# TENON_TENSORFLOW_PYTHON names a python that has TensorFlow; without it one is made in VENV
# (build/interop-venv), which downloads some 300 MB the first time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=${1:?usage: run.sh BUNDLE_TOOL [VENV]}
venv=${2:-$here/../../build/interop-venv}
python=${TENON_TENSORFLOW_PYTHON:-}
if [ -z "$python" ]; then
  python=$venv/bin/python
  if ! [ -e "$venv/ready" ]; then
    python3 -m venv --clear "$venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    touch "$venv/ready"
  fi
fi
exec "$python" "$here/check_tensorflow.py" "$tool"
