#!/bin/bash
# ONNX files by the runner: test cases of ONNX's on three devices, what a file has, a version written from it, mistakes.
#   runner_onnx.sh TENON
. "$(dirname "$0")/runner_lib.sh"
cases=$(cd "$(dirname "$0")/../fixtures/onnx" && pwd)
count=$(find "$cases" -name model.onnx | wc -l)

echo '# test cases'
expect 0 '' "$tenon" run --tests "$cases" --device cpu
[ "$(tail -n 1 "$work/out")" = "$count tests: $count passed, 0 failed, 0 unsupported" ] || complain "on cpu: $(cat "$work/out")"
expect 0 '' "$tenon" run --tests "$cases" --device cpu --precision default
expect 0 '' "$tenon" run --tests "$cases" --device tpu-emulator:v2-8
refused='cannot run|no such op|not supported'
grep '^unsupported' "$work/out" | grep -vE "$refused" && complain 'the emulator refuses in its own words'
[ "$(sed -n 's/.*: \([0-9]*\) passed.*/\1/p' "$work/out")" -ge 60 ] || complain "on the emulator: $(cat "$work/out")"
if "$tenon" devices | grep -A1 '^opencl-gpu ' | grep -q '^  0  '; then
  mkdir "$work/some"
  for name in onehot_negative_indices conv_with_autopad_same lstm_with_peepholes attention_4d_gqa_attn_mask resize_tf_crop_and_resize \
    top_k softmax_axis_1 scatternd_multiply; do
    ln -s "$cases/$name" "$work/some/$name"
  done
  expect 0 '' "$tenon" run --tests "$work/some" --device opencl-gpu
fi

echo '# one file'
expect 0 '' "$tenon" run "$cases/gemm_all_attributes/model.onnx" --device cpu --json
grep -q '"passed": true, "max_error": ' "$work/out" || complain "run --json: $(cat "$work/out")"
cp -r "$cases/gemm_all_attributes" "$work/other"
cp "$cases/lrn/test_data_set_0/output_0.pb" "$work/other/test_data_set_0/"
"$tenon" run "$cases/gemm_all_attributes/model.onnx" --data "$work/other" --device cpu --json >"$work/out"
[ $? -eq 1 ] || complain 'another output passes'
grep -q '"passed": false' "$work/out" || complain "another output: $(cat "$work/out")"
expect 0 '' "$tenon" inspect onnx "$cases/gemm_all_attributes/model.onnx"
grep -q '^ops      Gemm 1$' "$work/out" || complain "inspect onnx: $(cat "$work/out")"
expect 0 '' "$tenon" inspect onnx "$cases/gemm_all_attributes/model.onnx" --json
grep -q '"inputs": \[{"name": "a", "type": "f32\[4,3\]"}' "$work/out" || complain "inspect onnx --json: $(cat "$work/out")"

echo '# a version'
expect 0 '' "$tenon" import "$cases/softmax_axis_1/model.onnx" --output "$work/versions" --version 7 --device cpu
[ -s "$work/versions/7/saved_model.pb" ] && [ -s "$work/versions/7/assets.extra/tenon/model.pb" ] || complain 'no version'
expect 0 '' "$tenon" import "$cases/softmax_axis_1/model.onnx" --output "$work/versions" --version 8 --device cpu --format tenon
[ ! -e "$work/versions/8/saved_model.pb" ] || complain 'a graph of TensorFlow that was not asked for'

echo '# vectors, timed'
for type in 1 11; do
  make_onnx >"$work/vectors.onnx" <<FILE
input x $type batch,2
tensor w $type 2,3 1,2,3,4,5,6
tensor b $type 3 0,1,0
node Gemm dense x,w,b y
output y $type batch,3
FILE
  expect 0 '' "$tenon" bench step "$work/vectors.onnx" --mode predict --device cpu --rounds 1 --steps 1 --batch_size 4 --json
  [ "$(result batch_size)" = 4 ] || complain "vectors of type $type: $(cat "$work/out")"
done
make_onnx >"$work/vectors.onnx" <<'FILE'
input x 1 batch,2
tensor w 1 2,3 1,2,3,4,5,6
tensor b 1 3 0,1,0
node Gemm dense x,w,b y
output y 1 batch,3
FILE
expect 0 '' "$tenon" bench step "$work/vectors.onnx" --device cpu --rounds 1 --steps 1 --batch_size 4 --json
make_onnx >"$work/wide.onnx" <<'FILE'
input x 1 batch,width
node Relu act x y
output y 1 batch,width
FILE
expect 1 "axis 1 of input 'x' is of any size, called 'width'; give its size: --dim width=SIZE" \
  "$tenon" bench step "$work/wide.onnx" --mode predict --device cpu
expect 0 '' "$tenon" bench step "$work/wide.onnx" --dim width=3 --mode predict --device cpu --rounds 1 --steps 1

echo '# what no memory holds'
make_onnx >"$work/vast.onnx" <<'FILE'
input x 1 1099511627776,1099511627776
node Relu act x y
output y 1 1099511627776,1099511627776
FILE
expect 1 "ONNX file '$work/vast.onnx': ONNX node Relu 'act': its result 'y' is f32[4,1099511627776], which no memory holds" \
  "$tenon" preflight --tpu v3-8 "$work/vast.onnx"
for command in "import --output $work/versions" 'bench step'; do
  read -r -a words <<<"$command"
  expect 1 "ONNX file '$work/vast.onnx': an example of input 'x' has more than" "$tenon" "${words[@]}" "$work/vast.onnx"
done
make_onnx >"$work/vast.onnx" <<'FILE'
input x 1 batch,2
tensor size 7 2 262144,262144
tensor axis 7 1 1
node ConstantOfShape vast size c
node ReduceSum sum c,axis r
node Add add x,r y
output y 1 batch,2
FILE
expect 1 "ONNX node ConstantOfShape 'vast': its result 'c' is f32[262144,262144], which no memory holds" \
  "$tenon" import "$work/vast.onnx" --output "$work/versions" --device cpu

echo '# tokens of a length that nothing says'
make_onnx >"$work/odd.onnx" <<'FILE'
input ids 7 batch,sequence
tensor table 1 3,2 1,2,3,4,5,6
tensor other 1 3,2 6,5,4,3,2,1
node Gather look table,ids e
node Add sum e,other y
output y 1 batch,sequence,scores
FILE
expect 1 "the file leaves 'sequence' open, which is 128 here: --dim sequence=SIZE sets it" \
  "$tenon" bench step "$work/odd.onnx" --mode predict --device cpu
expect 0 '' "$tenon" bench step "$work/odd.onnx" --dim sequence=3 --mode predict --device cpu --rounds 1 --steps 1

echo '# mistakes'
refused() { # MESSAGE NAME LINE: what is said of a sum of x and that tensor
  printf '%s\n' 'input x 1 2' "$3" "node Add sum x,$2 y" 'output y 1 2' | make_onnx >"$work/refused.onnx"
  expect 1 "ONNX file '$work/refused.onnx': $1" "$tenon" inspect onnx "$work/refused.onnx"
  expect 1 "ONNX file '$work/refused.onnx': $1" "$tenon" import "$work/refused.onnx" --output "$work/refused" --device cpu
}
refused "tensor 'w' says no element type (data_type is 0), expected one of ONNX's" w 'tensor w 0 2'
refused "tensor 'w' external data has no location, expected the name of a file in the model's directory" w 'external w 1 2  0'
refused "the name 'w\x00x' of a tensor has a NUL at its byte 1, expected text without one" w%00x 'tensor w%00x 1 2 1,2'
make_onnx >"$work/lines.onnx" <<'FILE'
input x 1 2
node Frob%0anicate one%0atwo x y
output y 1 2
FILE
expect 1 "of ops that Tenon does not know: Frob\nnicate (opset 18) 'one\ntwo'" "$tenon" run "$work/lines.onnx"
expect 0 '' "$tenon" inspect onnx "$work/lines.onnx"
grep -qF 'unknown  Frob\nnicate (opset 18) 1' "$work/out" || complain "unknown ops: $(cat "$work/out")"
grep -q '^input    x  *f32\[2\]$' "$work/out" || complain "inputs beside unknown ops: $(cat "$work/out")"
expect 0 '' "$tenon" inspect onnx "$work/lines.onnx" --json
grep -qF '"unknown_ops": {"Frob\nnicate (opset 18)": 1}' "$work/out" || complain "unknown ops: $(cat "$work/out")"
make_onnx >"$work/words.onnx" <<'FILE'
input x 8 batch,2
node Identity same x y
output y 8 batch,2
FILE
expect 1 "ONNX file '$work/words.onnx': input 'x' is of string, which Tenon has not" \
  "$tenon" import "$work/words.onnx" --output "$work/versions" --device cpu
head -c 60 "$cases/lrn/model.onnx" >"$work/cut.onnx"
expect 1 "ONNX file '$work/cut.onnx': it is cut off or no ONNX model" "$tenon" run "$work/cut.onnx"
: >"$work/empty.onnx"
expect 1 'it has no graph' "$tenon" run "$work/empty.onnx"
expect 1 "$work/none.onnx" "$tenon" run "$work/none.onnx"
expect 1 "--data: '$work' has no output_0.pb; expected a directory with input_0.pb, .. and output_0.pb, .., or with such directories" \
  "$tenon" run "$cases/lrn/model.onnx" --data "$work"
expect 1 "--data: there is no directory '$work/none'; expected" "$tenon" run "$cases/lrn/model.onnx" --data "$work/none"
expect 1 "--data: '$cases/lrn/model.onnx' is a file; expected" "$tenon" run "$cases/lrn/model.onnx" --data "$cases/lrn/model.onnx"
mkdir -p "$work/half/test_data_set_0"
expect 1 "--data: '$work/half/test_data_set_0' has no output_0.pb" "$tenon" run "$cases/lrn/model.onnx" --data "$work/half"
expect 1 "it has no graph" "$tenon" import "$cases/lrn/test_data_set_0/input_0.pb" --output "$work/versions"
expect 2 'expected one FILE.onnx' "$tenon" run
cp "$cases/lrn/model.onnx" "$work/alone.onnx"
expect 2 "--data is missing, and no data lie beside the file" "$tenon" run "$work/alone.onnx"
expect 0 '' "$tenon" run "$cases/lrn/model.onnx" --device cpu
grep -qE '^passed, max error (0|[1-9].*e-[0-9]+)$' "$work/out" || complain "max error: $(cat "$work/out")"
for name in x.pt x.keras x.safetensors; do
  : >"$work/$name"
  for command in import run train evaluate predict "preflight --tpu v3-8"; do
    read -r -a words <<<"$command"
    expect 2 "is a file of weights, and no model: a model by name takes it" "$tenon" "${words[@]}" "$work/$name"
  done
done
expect 2 '--output is missing' "$tenon" import "$cases/lrn/model.onnx"
expect 2 "--dim: 'batch', expected NAME=SIZE" "$tenon" import "$cases/lrn/model.onnx" --output "$work/versions" --dim batch
expect 1 "no input has an open dimension 'sequenc' behind axis 0; open are 'sequence'; did you mean 'sequence'?" \
  "$tenon" import "$cases/tokens_next/model.onnx" --output "$work/versions" --dim sequenc=16
for command in "import --output $work/versions" 'bench step' 'preflight --tpu v3-8' 'train --synthetic' 'predict --synthetic'; do
  read -r -a words <<<"$command"
  expect 1 "dimension 'batch' is axis 0 of input 'input_ids', which counts the rows, of which any number may come; of the other axes open are 'sequence'" \
    "$tenon" "${words[@]}" "$cases/tokens_next/model.onnx" --dim batch=4
  expect 2 "--dim: 'sequence' is given twice" "$tenon" "${words[@]}" "$cases/tokens_next/model.onnx" --dim sequence=4 --dim sequence=8
  expect 2 "--dim: 'sequence=0', expected NAME=SIZE" "$tenon" "${words[@]}" "$cases/tokens_next/model.onnx" --dim sequence=0
done
expect 1 "no input has an open dimension 'q' behind axis 0; the file leaves none open" \
  "$tenon" bench step "$cases/gemm_all_attributes/model.onnx" --dim q=3 --device cpu
expect 2 'unknown flag --dim' "$tenon" preflight mobilenet_v2 --tpu v3-8 --dim height=32
expect 2 "has no directory with a model.onnx" "$tenon" run --tests "$work/versions"
finish
