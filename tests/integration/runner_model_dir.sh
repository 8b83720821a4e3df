#!/bin/bash
# What a model directory remembers of its model, and prediction of image files.
. "$(dirname "$0")/runner_lib.sh"
data=$work/data
make_idx "$work/idx" 256 70
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$data"

# A gray PNG of 8x8 pixels as make_idx has them for class $2, without noise.
make_png() {
  perl -e '
    my ($c) = @ARGV;
    binmode STDOUT;
    sub crc {
      my $r = 0xffffffff;
      for my $b (unpack("C*", $_[0])) {
        $r ^= $b;
        $r = $r & 1 ? ($r >> 1) ^ 0xedb88320 : $r >> 1 for 1 .. 8;
      }
      return $r ^ 0xffffffff;
    }
    sub chunk { my ($t, $d) = @_; print pack("N", length $d), $t, $d, pack("N", crc($t . $d)) }
    my $raw = join "", map { "\0" . chr($_ == 2 * $c ? 190 : 50) x 8 } 0 .. 7;
    my ($a, $b) = (1, 0);
    for (unpack("C*", $raw)) { $a = ($a + $_) % 65521; $b = ($b + $a) % 65521 }
    print "\x89PNG\r\n\x1a\n";
    chunk("IHDR", pack("NNCCCCC", 8, 8, 8, 0, 0, 0, 0));
    chunk("IDAT", "\x78\x01\x01" . pack("vv", length $raw, ~length($raw) & 0xffff) . $raw . pack("N", $b << 16 | $a));
    chunk("IEND", "")' "$2" >"$1"
}

echo '# what a model directory remembers'
wide=$work/wide
expect 0 '' "$tenon" train mlp --hidden 24,8 --dropout 0.25 --learning_rate 0.01 --train_batch_size 16 --train_steps 60 --data_dir "$data" --device cpu --model_dir "$wide"
for what in '"model": "mlp"' '"hidden": "24,8"' '"dropout": 0.25' '"height": 8' '"num_classes": 4'; do
  grep -qF "$what" "$wide/model.json" || complain "model.json lacks $what: $(cat "$wide/model.json")"
done
there=(--data_dir "$data" --model_dir "$wide" --device cpu)
measured() { "$tenon" evaluate "$@" | grep -E '^(accuracy|loss) '; }
named=$(measured mlp "${there[@]}")
[ -n "$named" ] || complain 'evaluate does not take the flags from the directory'
[ "$(measured "${there[@]}")" = "$named" ] || complain 'evaluate does not take the model from the directory'
[ "$(measured --data_dir "$data" --checkpoint "$wide/model.ckpt-60" --device cpu)" = "$named" ] || complain 'a checkpoint does not know its model'
[ "$(measured "--model_dir=$wide" --data_dir "$data" --hidden 24,8 --device cpu)" = "$named" ] || complain 'the same flag is refused'
expect 0 '' "$tenon" train "${there[@]}" --train_batch_size 16 --train_steps 62
expect 2 "--hidden is not what $wide/model.json says" "$tenon" evaluate mlp "${there[@]}" --hidden 16
expect 2 "--num_classes is 5; $wide/model.json says 4" "$tenon" predict "${there[@]}" --num_classes 5
expect 2 "$wide/model.json says that the model is 'mlp', not 'fashion'" "$tenon" evaluate fashion "${there[@]}"
kept=$(cksum <"$wide/model.json")
expect 1 "'dense/kernel'" "$tenon" train mlp "${there[@]}" --hidden 17 --train_batch_size 16 --train_steps 70
[ "$(cksum <"$wide/model.json")" = "$kept" ] || complain 'training that failed changed model.json'
expect 0 '' "$tenon" train "${there[@]}" --dropout 0.5 --train_batch_size 16 --train_steps 64  # given flags win in training
grep -qF '"dropout": 0.5' "$wide/model.json" || complain 'a flag that was given to train is not remembered'
expect 1 "--model_dir: no directory '$work/none'" "$tenon" evaluate --data_dir "$data" --model_dir "$work/none"
expect 1 "--model_dir: no model in '$data', which has records" "$tenon" evaluate --data_dir "$data" --model_dir "$data"
for command in translate summarize generate 'answer --question q --context c'; do
  expect 1 "--model_dir: no directory '$work/none'" "$tenon" $command --model_dir "$work/none"
  expect 1 "--model_dir: no model in '$data', which has records" "$tenon" $command --model_dir "$data"
  expect 1 "--model_dir: no model in '$work', expected model.json in it" "$tenon" $command --model_dir "$work"
  expect 2 '--model_dir is missing' "$tenon" $command
done

echo '# data of another kind'
expect 2 "gpt takes text, and '$data' holds images, which mlp, fashion, flowers, resnet take" "$tenon" train gpt --data_dir "$data"
holds=(text 'pairs of sentences' 'questions about texts' 'rows of a table')
kinds=(text pairs answers table) takers=(gpt transformer reader table)
for i in 0 1 2 3; do
  mkdir -p "$work/${kinds[i]}" && echo "{\"kind\": \"${kinds[i]}\"}" >"$work/${kinds[i]}/info.json"
  for model in mlp fashion resnet table transformer reader gpt; do
    [ $model = ${takers[i]} ] ||
      expect 2 ", and '$work/${kinds[i]}' holds ${holds[i]}, which ${takers[i]} takes" "$tenon" train $model --data_dir "$work/${kinds[i]}"
  done
done
mkdir "$work/broken"
says() { # TEXT WHAT MODEL.JSON: that evaluate says of such a file
  printf '%s' "$3" >"$work/broken/model.json"
  expect 1 "$work/broken/model.json$1" "$tenon" evaluate --data_dir "$data" --model_dir "$work/broken"
  [ "$(wc -l <"$work/err")" = 1 ] && ! grep -q 'json\.exception' "$work/err" || complain "$2: $(cat "$work/err")"
}
changed() { sed -z "$1" "$wide/model.json"; }
says ':1:2: is damaged: the file ends in the middle' 'a file that is cut' '{'
says ":2:13: is damaged: expected ':', found a string" 'a colon that lacks' $'{\n"model" "mlp"}'
says ":1:1: is damaged: expected JSON, found 'm'" 'what is no JSON' 'mlp'
says ':1:8: is damaged: the file ends in the middle' 'a text that is cut' '{"model'
says ':1:1: is damaged: the file is empty' 'an empty file' ''
says ":1:26: is damaged: expected JSON, found '\\x01'" 'words of the parser' $'["unexpected ; expected x\1'
says ': is damaged: expected numbers of at most 1.8e308, found a larger one' 'an enormous number' "$(changed 's/"height": [0-9]*/"height": 1e999/')"
says ': the file is a list, expected an object' 'a list' '[]'
says ': the file is a list, expected an object' 'a deep list' "$(printf '[%.0s' {1..100000})$(printf ']%.0s' {1..100000})"
says ": expected 'model', found none" 'an empty object' '{}'
says ': no model "mlp2"' 'another model' "$(changed 's/"model": "mlp"/"model": "mlp2"/')"
says ': model is 3, expected a text' 'a number for a model' "$(changed 's/"model": "mlp"/"model": 3/')"
says ": flags has \"hiden\", which the model 'mlp' does not have" 'an unknown flag' "$(changed 's/"hidden"/"hiden"/')"
says ': flags.hidden is 24, expected a text' 'a number for a text' "$(changed 's/"hidden": "24,8"/"hidden": 24/')"
says ': flags.dropout is "0.25", expected a number' 'a text for a number' "$(changed 's/"dropout": [0-9.]*/"dropout": "0.25"/')"
says ': flags.dropout is a list, expected a number' 'a list for a number' "$(changed 's/"dropout": [0-9.]*/"dropout": [0.25]/')"
says ': flags.dtype_policy is null, expected a text' 'null for a text' "$(changed 's/"dtype_policy": "[a-z0-9]*"/"dtype_policy": null/')"
says ': labels is an object, expected a list of texts' 'no labels' "$(changed 's/"labels": \[[^]]*\]/"labels": {}/')"
says ': labels has 3 names, expected num_classes, 4' 'fewer labels' "$(changed 's/"labels": \[[^]]*\]/"labels": ["a", "b", "c"]/')"
says ': labels[1] is 2, expected a text' 'a number among labels' "$(changed 's/"labels": \[[^]]*\]/"labels": ["a", 2]/')"
for height in 8.5 -3 1e+99 '"8"' 18446744073709551615; do
  says ": height is $height, expected a whole number" "height $height" "$(changed "s/\"height\": [0-9]*/\"height\": $height/")"
done
changed 's/"dropout": [0-9.]*/"dropout": 0/; s/"labels": \[[^]]*\]/"labels": ["a", "b", "c", "d"]/' >"$work/broken/model.json"  # which is right
expect 1 'has no checkpoint' "$tenon" evaluate --data_dir "$data" --model_dir "$work/broken"

echo '# images without a CSV'
echo P5 8 8 255 >"$work/no.pgm"
for c in 0 1 2 3; do make_png "$work/class $c.png" "$c"; done
expect 0 '' "$tenon" predict --model_dir "$wide" --device cpu "$work"/class\ [0-3].png --output "$work/p.csv"
expected=$(for c in 0 1 2 3; do echo "$work/class $c.png,$c"; done)
[ "$(head -1 "$work/p.csv")" = 'image,class,probability' ] || complain "predict IMAGE: $(cat "$work/p.csv")"
[ "$(tail -n +2 "$work/p.csv" | cut -d, -f 1,2)" = "$expected" ] || complain "predict of images of four classes: $(cat "$work/p.csv")"
awk -F, 'NR > 1 && !($3 > 0.25 && $3 <= 1) { exit 1 }' "$work/p.csv" || complain "probabilities: $(cat "$work/p.csv")"
"$tenon" predict mlp --model_dir "$wide" --device cpu "$work/class 2.png" --json 2>/dev/null | grep -q "\"image\": \"$work/class 2.png\", \"classid\": " ||
  complain 'predict IMAGE --json'
"$tenon" predict --model_dir "$wide" --device cpu "$work/no.pgm" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -qF "$work/no.pgm" "$work/err" || complain "predict of what is no image: $(cat "$work/err")"
"$tenon" predict --model_dir "$wide" --device cpu "$work/none.png" >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -qF "$work/none.png" "$work/err" || complain "predict of no file: $(cat "$work/err")"
expect 2 "'$wide' is a directory, expected JPEG and PNG files; --model_dir names a model directory" "$tenon" predict "$wide"
expect 2 "'$wide' is a directory" "$tenon" predict mlp --model_dir "$wide" "$wide"
expect 2 "no model 'mpl'; expected mlp, fashion, flowers" "$tenon" predict mpl
expect 2 '--synthetic and images to predict exclude each other' "$tenon" predict --model_dir "$wide" "$work/class 0.png" --synthetic
expect 2 '--data_dir and images to predict exclude each other' "$tenon" predict --model_dir "$wide" "$work/class 0.png" --data_dir "$data"
mkdir "$work/bare" && cp "$wide"/checkpoint "$wide"/model.ckpt-64.* "$work/bare"  # as of another program: names and sizes are the data's
cp -r "$data" "$work/named" && printf 'north\neast\nsouth\nwest\n' >"$work/named/labels.txt"
"$tenon" predict mlp --hidden 24,8 --model_dir "$work/bare" --device cpu --data_dir "$work/named" "$work/class 2.png" >"$work/p.csv" 2>"$work/err"
[ "$(tail -1 "$work/p.csv" | cut -d, -f 1,2)" = "$work/class 2.png,south" ] || complain "predict IMAGE --data_dir: $(cat "$work/p.csv" "$work/err")"
finish
