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

echo '# data in another file, which the directory has too'
mkdir apart
perl -e 'print pack("f<*", (0) x 4, map { ($_ % 7) / 70 } 1 .. 256)' >apart/weights.data
make_onnx >apart/model.onnx <<'FILE'
input x 1 batch,64
external w 1 64,4 weights.data 16
external b 1 4 ./weights.data 0
node Gemm dense x,w,b y
output y 1 batch,4
FILE
for steps in 2 4; do
  expect 0 '' "$tenon" train apart/model.onnx --data_dir data --model_dir tuned_apart --device cpu --train_steps $steps --train_batch_size 16 --quiet
done
[ "$(ls tuned_apart | grep -c onnx)" = 1 ] || complain "files of a model: $(ls tuned_apart)"
expect 0 '' "$tenon" evaluate apart/model.onnx --data_dir data --device cpu --json
loss=$(result loss)
expect 0 '' "$tenon" evaluate tuned_apart/model.onnx --data_dir data --device cpu --json
[ "$(result loss)" = "$loss" ] || complain "the copy has loss $(result loss), the file $loss"
perl -e 'print pack("f<*", (0) x 260)' >apart/weights.data
expect 2 'says that the model is' "$tenon" evaluate apart/model.onnx --data_dir data --model_dir tuned_apart --device cpu
mv apart moved
expect 0 '' "$tenon" evaluate --model_dir tuned_apart --data_dir data --device cpu
mv tuned_apart elsewhere
expect 0 '' "$tenon" train --model_dir elsewhere --data_dir data --device cpu --train_steps 6 --train_batch_size 16 --quiet
rm moved/weights.data
expect 1 "external data 'weights.data' cannot be opened" "$tenon" train moved/model.onnx --data_dir data --model_dir none --device cpu
[ ! -e none/model.onnx ] || complain 'half a model is kept'

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

echo '# no dense layer before the scores: a convolution, a pool, a softmax'
make_onnx >pooled.onnx <<FILE
input x 1 batch,1,8,8
tensor w 1 4,1,1,1 1,2,3,4
node Conv conv x,w c
node GlobalAveragePool pool c p
node Softmax answer p s axis=1
node Flatten flat s y
output y 1 batch,4
FILE
expect 0 '' "$tenon" preflight pooled.onnx --tpu v3-8 --json
grep -q '"verdict": "accepted"' out || complain "preflight of a pool: $(cut -c1-300 out)"
expect 0 '' "$tenon" evaluate pooled.onnx --data_dir data --device cpu --json
expect 0 '' "$tenon" train pooled.onnx --data_dir data --model_dir pooled --device cpu --train_steps 2 --train_batch_size 16 --quiet
expect 1 "replace_head: no dense layer stands before the output 'y'" "$tenon" train pooled.onnx --data_dir data --replace_head 3

echo '# rows of numbers are the rows of images'
make_onnx >rows.onnx <<FILE
input x 1 batch,8,8
tensor w 1 64,4 $(printf '0,%.0s' $(seq 255))0
node Flatten flat x f
node MatMul dense f,w y
output y 1 batch,4
FILE
expect 0 '' "$tenon" evaluate rows.onnx --data_dir data --device cpu --json
awk "BEGIN { exit !(($(result loss) - log(4)) ^ 2 < 1e-12) }" || complain "rows: $(cat out)"
expect 0 '' "$tenon" train rows.onnx --data_dir data --model_dir rows --device cpu --optimizer adam --learning_rate 0.01 --train_steps 100 --train_batch_size 16 \
  --noaugment --quiet
expect 0 '' "$tenon" evaluate --model_dir rows --data_dir data --device cpu --json
[ "$(result accuracy)" = 1 ] || complain "rows are learned: $(cat out)"

echo '# models that there are no data for: forecast and timed with a plain loss'
make_onnx >maps.onnx <<FILE
input x 1 batch,1,8,8
input scale 1 batch,1,1,1
input kind 7 batch
tensor w 1 4,1,1,1 1,2,3,4
node Conv conv x,w c
node Mul mul c,scale y
node Identity same kind z
output y 1 batch,4,8,8
output z 7 batch
FILE
for command in 'preflight --tpu v3-8' 'bench step --device cpu --rounds 1 --steps 1 --batch_size 4' 'train --synthetic --device cpu --train_steps 2 --train_batch_size 4'; do
  read -r -a words <<<"$command"
  expect 0 '' "$tenon" "${words[@]}" maps.onnx
  grep -q "^the loss is the mean of squares of the outputs: ONNX file 'maps.onnx': it has 3 inputs$\|^the loss .*output 'y' is f32\[?,4,8,8\]$" out || complain "$command: $(cat out)"
done
expect 1 "ONNX file 'maps.onnx': it has 3 inputs; expected one input of images" "$tenon" train maps.onnx --data_dir data
expect 1 "ONNX file 'maps.onnx': it has 3 inputs; expected one input of images" "$tenon" evaluate maps.onnx --data_dir data
expect 0 '' "$tenon" inspect model maps.onnx

echo '# names of nodes'
make_onnx >named.onnx <<FILE
input x 1 batch,64
tensor w 1 8,64 $(printf '0.01,%.0s' $(seq 511))0
tensor b 1 8 0,0,0,0,0,0,0,0
tensor v 1 8,4 $(printf '0,%.0s' $(seq 31))0
node Transpose turn w t
node Gemm /layer1/fc x,t,b h
node MatMul /layer2/fc h,v y
output y 1 batch,4
FILE
expect 0 '' "$tenon" inspect model named.onnx --freeze 'layer1/'
grep -q '^w .*not trained  read by turn, /layer1/fc$' out || complain "what reads w: $(cat out)"
grep -q '^b .*not trained  read by /layer1/fc$' out || complain "what reads b: $(cat out)"
grep -q '^v .*32  read by /layer2/fc$' out || complain "what reads v: $(cat out)"
expect 0 '' "$tenon" inspect model named.onnx --json
grep -q '"nodes": \["turn", "/layer1/fc"\]' out || complain "what reads w, --json: $(cat out)"
for expression in '^/layer2' '^v$'; do
  rm -rf named
  expect 0 '' "$tenon" train named.onnx --data_dir data --model_dir named --device cpu --train_steps 2 --train_batch_size 16 \
    --learning_rate_multiplier "$expression=0" --noaugment --quiet
  expect 0 '' "$tenon" inspect checkpoint named --values v
  grep -qE '[1-9]' <<<"$(grep -v 'f32' out)" && complain "$expression: what is not to learn has learned: $(cat out)"
done
expect 1 "no node that reads one has it in its name" "$tenon" train named.onnx --data_dir data --freeze layer3
expect 2 "--learning_rate_multiplier: 'layer3' is found in no variable's name; variables are 'w', 'b', 'v'; no node that reads one has it in its name" \
  "$tenon" train named.onnx --data_dir data --learning_rate_multiplier layer3=0
expect 2 "--learning_rate_multiplier: '^/layer1' is found in no variable that is trained" \
  "$tenon" train named.onnx --data_dir data --freeze layer1 --learning_rate_multiplier ^/layer1=0.1
expect 0 '' "$tenon" inspect model named.onnx
make_onnx >more.onnx <<FILE
input x 1 batch,64
tensor w 1 64,6 $(printf '0,%.0s' $(seq 383))0
node MatMul dense x,w y
output y 1 batch,6
FILE
expect 0 '' "$tenon" evaluate more.onnx --data_dir data --device cpu
grep -q "^the data have 4 classes, the file's model 6: labels are the first of these$" out || complain "fewer classes: $(cat out)"

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
expect 1 'expected one input of images' "$tenon" predict "$cases/gemm_all_attributes/model.onnx" --data_dir data
expect 2 '--replace_head' "$tenon" train other.onnx --data_dir data --replace_head -1
expect 1 "freeze: 'nothing' is found in no variable's name; variables are " "$tenon" train other.onnx --data_dir data --freeze nothing
head -c 3000 other.onnx >cut.onnx
expect 1 'cut.onnx' "$tenon" evaluate cut.onnx --data_dir data
finish
