#!/bin/sh
# Compares Tenon's files with TensorFlow's.  Usage: run.sh BUNDLE_TOOL SAVED_MODEL_TOOL PLUGINS [VENV]
# TENON_TENSORFLOW_PYTHON names a python that has TensorFlow; without it one is made in VENV
# (build/interop-venv), which downloads some 300 MB the first time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
usage='usage: run.sh BUNDLE_TOOL SAVED_MODEL_TOOL PLUGINS [VENV]'
bundle_tool=${1:?$usage}
saved_model_tool=${2:?$usage}
plugins=${3:?$usage}
venv=${4:-$here/../../build/interop-venv}
python=${TENON_TENSORFLOW_PYTHON:-}
if [ -z "$python" ]; then
  python=$venv/bin/python
  if ! [ -e "$venv/ready" ]; then
    python3 -m venv --clear "$venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    touch "$venv/ready"
  fi
fi
failed=0
"$python" "$here/check_tensorflow.py" "$bundle_tool" || failed=1
TENON_PLUGIN_PATH=$plugins "$python" "$here/check_saved_models.py" "$saved_model_tool" || failed=1
exit $failed
