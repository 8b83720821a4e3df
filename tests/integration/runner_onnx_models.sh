#!/bin/bash
# A model that was exported to ONNX is the runner's again: the same answers, trained on, remembered by its directory, forecast, timed.
#   runner_onnx_models.sh TENON
. "$(dirname "$0")/runner_lib.sh"
cases=$(cd "$(dirname "$0")/../fixtures/onnx" && pwd)
cd "$work" || exit 1
make_idx idx 128 64
expect 0 '' "$tenon" convert idx --input idx --output data
expect 0 '' "$tenon" train fashion --data_dir data --model_dir first --device cpu --train_steps 20 --train_batch_size 16 --quiet
expect 0 '' "$tenon" export --model_dir first --format onnx --output model.onnx --device cpu

echo '# the same answers'
expect 0 '' "$tenon" predict --model_dir first --data_dir data --device cpu --output first.csv
expect 0 '' "$tenon" predict model.onnx --data_dir data --device cpu --output again.csv
awk -F, 'NR == FNR { for (i = 4; i <= NF; ++i) first[FNR, i] = $i; next }
         FNR > 1 { for (i = 4; i <= NF; ++i) if (($i - first[FNR, i]) ^ 2 > 1e-10) exit 1 }
         END { if (FNR != 65) exit 1 }' first.csv again.csv || complain "predictions differ: $(tail -n 1 first.csv), $(tail -n 1 again.csv)"
expect 0 '' "$tenon" evaluate --model_dir first --data_dir data --device cpu --json
accuracy=$(sed -n 's/.*"accuracy": \([0-9.]*\).*/\1/p' out)
expect 0 '' "$tenon" evaluate model.onnx --data_dir data --device cpu --json
grep -q "\"accuracy\": $accuracy," out || complain "accuracy $accuracy, of the file $(cat out)"

echo '# trained on, with a directory that needs the file no longer'
for device in cpu tpu-emulator:v2-8; do
  rm -rf tuned
  "$tenon" train model.onnx --data_dir data --model_dir tuned --device "$device" --train_steps 3 --train_batch_size 16 --quiet >out 2>err ||
    complain "$device: $(cat err)"
  [ -s tuned/model.onnx ] || complain "$device: no model.onnx in the directory"
done
mv model.onnx other.onnx
expect 0 '' "$tenon" evaluate --model_dir tuned --data_dir data --device cpu
expect 0 '' "$tenon" train --model_dir tuned --data_dir data --device cpu --train_steps 5 --train_batch_size 16 --quiet
expect 0 '' "$tenon" train other.onnx --model_dir tuned --data_dir data --device cpu --train_steps 6 --train_batch_size 16 --quiet
expect 0 '' "$tenon" export --model_dir tuned --format onnx --output tuned.onnx --device cpu
expect 2 "says that the model is" "$tenon" evaluate tuned.onnx --model_dir tuned --data_dir data --device cpu

echo '# a new head, frozen layers'
expect 0 '' "$tenon" train other.onnx --data_dir data --model_dir head --device cpu --freeze conv --replace_head 12 --train_steps 2 --train_batch_size 16 --quiet
expect 0 '' "$tenon" inspect checkpoint head --json
grep -q 'head/kernel' out || complain "no head: $(cat out)"
grep -q 'conv2d/kernel/Momentum' out && complain 'what is frozen has a slot'
grep -q '"dense/kernel"' out && complain 'the old head is still there'

echo '# forecast and timed'
expect 0 '' "$tenon" preflight other.onnx --tpu v3-8 --json
grep -q '"verdict": "accepted"' out || complain "preflight: $(cut -c1-300 out)"
expect 0 '' "$tenon" bench step other.onnx --device cpu --rounds 1 --batch_size 4 --json
expect 0 '' "$tenon" bench step other.onnx --device cpu --rounds 1 --batch_size 4 --mode predict --json
expect 0 '' "$tenon" import other.onnx --output versions --version 3 --format onnx --device cpu
[ -s versions/3/model.onnx ] || complain 'no version'

echo '# vectors of f32 and of f64: untrained, four classes are equally likely; trained, both learn the same'
for type in 1 11; do
  make_onnx >vectors_$type.onnx <<FILE
input x $type batch,64
tensor w $type 64,4 $(printf '0,%.0s' $(seq 255))0
tensor b $type 4 0,0,0,0
node Gemm dense x,w,b y
output y $type batch,4
FILE
  expect 0 '' "$tenon" evaluate vectors_$type.onnx --data_dir data --device cpu --json
  awk "BEGIN { exit !(($(result loss) - log(4)) ^ 2 < 1e-12) }" || complain "vectors of type $type: $(cat out)"
  expect 0 '' "$tenon" train vectors_$type.onnx --data_dir data --model_dir vectors_$type --device cpu --optimizer adam --learning_rate 0.01 \
    --train_steps 100 --train_batch_size 16 --noaugment --quiet
  expect 0 '' "$tenon" predict --model_dir vectors_$type --data_dir data --device cpu --output vectors_$type.csv
  expect 0 '' "$tenon" evaluate --model_dir vectors_$type --data_dir data --device cpu --json
  [ "$(result accuracy)" = 1 ] || complain "vectors of type $type: $(cat out)"
done
awk -F, 'NR == FNR { for (i = 4; i <= NF; ++i) first[FNR, i] = $i; next }
         FNR > 1 { for (i = 4; i <= NF; ++i) if (($i - first[FNR, i]) ^ 2 > 1e-10) exit 1 }
         END { if (FNR != 65) exit 1 }' vectors_1.csv vectors_11.csv || complain "f64 differs: $(tail -n 1 vectors_1.csv), $(tail -n 1 vectors_11.csv)"
expect 0 '' "$tenon" inspect model vectors_11.onnx
grep -q '^vectors_11.onnx for vectors of 64 and 4 classes: 260 parameters, 260 of them trained$' out || complain "vectors: $(tail -n 1 out)"
expect 0 '' "$tenon" inspect model vectors_11.onnx --data_dir data
grep -q 'for vectors of 64 and' out || complain "vectors of images: $(tail -n 1 out)"
expect 0 '' "$tenon" inspect model other.onnx
grep -q 'for images of 8x8x1 and' out || complain "images: $(tail -n 1 out)"
expect 0 '' "$tenon" inspect checkpoint vectors_11
grep -q '^w .*f64\[64,4\]' out || complain "f64 is kept as it is: $(cat out)"

echo '# mistakes'
mkdir nothing
expect 1 'nothing: has no checkpoint' "$tenon" evaluate other.onnx --model_dir nothing --data_dir data --device cpu
expect 1 "none.onnx" "$tenon" train none.onnx --data_dir data
expect 1 'expected one input of images' "$tenon" train "$cases/gemm_all_attributes/model.onnx" --data_dir data
expect 2 '--replace_head' "$tenon" train other.onnx --data_dir data --replace_head -1
expect 1 "freeze: 'nothing' is found in no variable's name; variables are " "$tenon" train other.onnx --data_dir data --freeze nothing
head -c 3000 other.onnx >cut.onnx
expect 1 'cut.onnx' "$tenon" evaluate cut.onnx --data_dir data
finish
