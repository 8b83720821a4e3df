#!/bin/sh
# Holds Tenon's files and its server against TensorFlow's, files of weights against Keras's and PyTorch's, and what it makes of ONNX files
# against ONNX's.  Usage: run.sh BUILD [VENV]
# TENON_TENSORFLOW_PYTHON names a python that has TensorFlow; without it one is made in VENV
# (build/interop-venv), which downloads some GB the first time, PyTorch among them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run.sh BUILD [VENV]}
venv=${2:-$here/../../build/interop-venv}
python=${TENON_TENSORFLOW_PYTHON:-}
if [ -z "$python" ]; then
  python=$venv/bin/python
  if ! cmp -s "$here/requirements.txt" "$venv/ready"; then
    python3 -m venv --clear "$venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/ready"
  fi
fi
failed=0
"$python" "$here/check_tensorflow.py" "$build/bin/bundle_tool" || failed=1
TENON_PLUGIN_PATH=$build/lib/tenon "$python" "$here/check_saved_models.py" "$build/bin/saved_model_tool" || failed=1
"$python" "$here/check_serving.py" "$build/bin/tenon" || failed=1
TENON_PLUGIN_PATH=$build/lib/tenon "$python" "$here/check_weights.py" "$build/bin/weights_tool" "$here/../rules" || failed=1
TENON_PLUGIN_PATH=$build/lib/tenon "$python" "$here/check_applications.py" "$build/bin/application_tool" || failed=1
"$python" "$here/check_onnx.py" "$build/bin/tenon" || failed=1
"$python" "$here/check_onnx_models.py" "$build/bin/tenon" "$build/bin/onnx_tool" || failed=1
"$python" "$here/check_onnx_keras.py" "$build/bin/tenon" "$build/bin/onnx_tool" || failed=1
"$python" "$here/check_onnx_sklearn.py" "$build/bin/tenon" || failed=1
"$python" "$here/check_pytorch.py" "$build/bin/tenon" || failed=1
exit $failed
