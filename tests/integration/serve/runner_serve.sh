#!/bin/bash
# tenon serve: two small models are trained and exported, mistakes on the command line are one line, then serve_test.py asks, and
# page_test.py looks at the page where there is a browser.
#   runner_serve.sh TENON [sanitized]
. "$(dirname "$0")/../runner_lib.sh"
here=$(dirname "$0")
make_idx "$work/idx" 128 32
"$tenon" convert idx --input "$work/idx" --output "$work/data" >/dev/null
printf 'ant\nbee\ncat\ndog\n' >"$work/data/labels.txt"
for model in first second; do
  seed=$([ $model = first ] && echo 1 || echo 2)
  "$tenon" train mlp --hidden 16 --data_dir "$work/data" --model_dir "$work/$model" --device cpu --seed "$seed" --train_batch_size 16 \
    --train_steps $((seed * 20)) >/dev/null || complain 'training failed'
  "$tenon" export --model_dir "$work/$model" --output "$work/exported/of_$model" --format tenon --device cpu --version 1 >/dev/null ||
    complain 'export failed'
  mv "$work/exported/of_$model/1" "$work/exported/$model"
done

echo '# mistakes'
serve=("$tenon" serve --port 0 --device cpu)
one="mlp=$work/exported/of_first"
expect 2 'expected --model NAME=DIR or FILE.onnx' "${serve[@]}"
expect 2 "--model: expected NAME=DIR, found 'mlp'" "${serve[@]}" --model mlp
expect 1 "'net.onnx' of the model m is no directory or ONNX file" "${serve[@]}" --model m=net.onnx
expect 1 "'$work/net.onnx' of the model net is no directory or ONNX file" "${serve[@]}" "$work/net.onnx"
expect 2 "--model: 'a b' is no name of a model" "${serve[@]}" "a b.onnx"
expect 2 "--dim: no ONNX file that is served has a dimension 'sequence'; expected none" "${serve[@]}" --model "$one" --dim sequence=3
expect 2 "--dim: no ONNX file that is served has a dimension 'sequenc'; expected sequence" \
  "${serve[@]}" "$here/../../fixtures/onnx/tokens_next/model.onnx" --dim sequenc=3
expect 2 "--model: 'a/b' is no name of a model" "${serve[@]}" --model a/b=x
expect 2 "--model: two models are called 'mlp'" "${serve[@]}" --model "$one" --model "$one"
expect 1 "nowhere' of the model mlp is no directory or ONNX file" "${serve[@]}" --model "mlp=$work/nowhere"
expect 2 "--versions: there is no model 'mpl'; expected mlp" "${serve[@]}" --model "$one" --versions mpl=2
expect 2 "--versions: expected NAME=N with N of 1 and more, or NAME=all, found 'mlp=0'" "${serve[@]}" --model "$one" --versions mlp=0
expect 2 "--version_labels: expected NAME:LABEL=VERSION, found 'mlp=1'" "${serve[@]}" --model "$one" --version_labels mlp=1
expect 2 "--canary: expected NAME=SHARE with a share between 0 and 1, found 'mlp=2'" "${serve[@]}" --model "$one" --canary mlp=2
expect 2 '--canary: mlp serves one version' "${serve[@]}" --model "$one" --canary mlp=0.5 --versions mlp=1
expect 2 '--tls_certificate and --tls_key need each other' "${serve[@]}" --model "$one" --tls_key x
expect 1 "'$work/none' is no certificate in PEM" "${serve[@]}" --model "$one" --tls_key "$work/none" --tls_certificate "$work/none"
expect 1 "'$work/none'" "${serve[@]}" --model "$one" --token_file "$work/none"
expect 1 "'nowhere' is no address of this machine" "${serve[@]}" --model "$one" --host nowhere
expect 1 "device 'nowhere'" "$tenon" serve --port 0 --device nowhere --model "$one"
expect 2 "--allow_reload_config: '$work/none' is no directory" "${serve[@]}" --model "$one" --grpc_port 0 --allow_reload_config "$work/none"
expect 2 '--allow_reload_config needs --grpc_port' "${serve[@]}" --model "$one" --allow_reload_config "$work"
expect 2 "model.onnx' is an ONNX file, expected a version that says what it takes: \`tenon import" \
  "$tenon" bench serve --model "m=$here/../../fixtures/onnx/tokens_next/model.onnx"
"$tenon" bench serve --help >"$work/help"
grep -q -- '--rate' "$work/help" || complain 'bench serve --help does not tell of --rate'
grep -qE '^(Cases|Ops|Inputs)' "$work/help" && complain 'bench serve --help tells of other benchmarks'
"$tenon" export --model_dir "$work/first" --output "$work/frozen" --frozen --device cpu >"$work/said"
grep -qx '  serving_default: image_bytes -> class, classid, probabilities' "$work/said" || complain "export --frozen says $(cat "$work/said")"
grep -qx '  tensor: image -> class, classid, probabilities' "$work/said" || complain "export --frozen says $(cat "$work/said")"
python3 -c 'import socket, time; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(600)' >"$work/taken" &
taken=$!
until [ -s "$work/taken" ]; do kill -0 $taken || break; done
if [ -f "$(dirname "$tenon")/../lib/tenon/server/grpc.so" ]; then
  expect 1 "gRPC cannot listen at 127.0.0.1:$(cat "$work/taken"): Address already in use" "${serve[@]}" --model "$one" --grpc_port "$(cat "$work/taken")"
fi
kill $taken
expect 2 'unknown flag --seed' "${serve[@]}" --model "$one" --seed 1

python3 "$here/serve_test.py" "$tenon" "$work" "${@:2}" || complain 'serve_test.py'
if command -v chromium >/dev/null; then
  python3 "$here/page_test.py" "$tenon" "$work" || complain 'page_test.py'
else
  echo 'page_test.py is left out: no chromium'
fi
finish
