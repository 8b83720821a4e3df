#!/bin/bash
# What `tenon inspect plan` shows: the summary is that of the steps and buffers, and names are cut between components.
#   runner_plan.sh TENON
. "$(dirname "$0")/runner_lib.sh"
plan=("$tenon" inspect plan)

# The summary again, out of the lists of steps and buffers.
cat >"$work/check.pl" <<'END'
use JSON::PP;
my $plan = decode_json(<STDIN>);
my ($s, @steps) = ($plan->{summary}, @{$plan->{steps}});
my (@alive, @fused, %algorithms, $flops, $sum, $end);
my @buffers = grep { $_->{memory} eq "workspace" } @{$plan->{buffers}};
for my $b (@buffers) {
  $alive[$_] += $b->{bytes} for $b->{first} .. $b->{last};
  $sum += $b->{bytes};
  $end = $b->{offset} + $b->{bytes} if $b->{offset} + $b->{bytes} > $end;
}
for my $step (@steps) {
  push @fused, scalar @{$step->{nodes}} if @{$step->{nodes}} > 1;
  ++$algorithms{$step->{algorithm}} if $step->{algorithm} ne "";
  $flops += $step->{flops};
}
my ($peak) = sort { $alive[$b] <=> $alive[$a] || $a <=> $b } 0 .. $#alive;
sub same { my ($what, $found, $expected) = @_; print "$what: $found, expected $expected\n" if $found ne $expected }
same("buffers", $s->{buffers}, scalar @buffers);
same("buffer_bytes", $s->{buffer_bytes}, $sum);
same("workspace_bytes", $s->{workspace_bytes}, $end);
same("peak_step", $s->{peak_step}, $peak);
same("peak_bytes", $s->{peak_bytes}, $alive[$peak]);
same("fused_steps", $s->{fused_steps}, scalar @fused);
same("fused_nodes", $s->{fused_nodes}, eval { join "+", @fused } ? eval(join "+", @fused) : 0);
same("flops", $s->{flops}, $flops);
same("algorithms", join(",", sort map { "$_->{name} $_->{steps}" } @{$s->{algorithms}}),
     join(",", sort map { "$_ $algorithms{$_}" } keys %algorithms));
my @at_peak = map { $plan->{buffers}[$_] } @{$s->{alive_at_peak}};
my ($bytes, $last) = (0, 1e18);
for my $b (@at_peak) {
  print "alive_at_peak has a buffer of $b->{first} to $b->{last}\n" if $b->{first} > $peak || $b->{last} < $peak;
  print "alive_at_peak is not sorted\n" if $b->{bytes} > $last;
  $bytes += $last = $b->{bytes};
}
same("alive_at_peak", $bytes, $alive[$peak]);
END
for mode in train eval predict; do
  expect 0 '' "${plan[@]}" fashion --mode $mode --device cpu --json
  perl "$work/check.pl" <"$work/out" >"$work/wrong" && [ ! -s "$work/wrong" ] || complain "fashion, $mode: $(cat "$work/wrong")"
done

# What programs read, in its order.
expect 0 '' "${plan[@]}" mlp --device cpu --batch_size 64 --json
[ "$(result batch_size)" = 64 ] || complain "a batch of $(result batch_size), expected 64"
grep -q '"values": \[{"name": "dense/dot_bias_act", "type": "f32\[64,128\]"' "$work/out" || complain 'a value is missing'
keys=$(sed 's/\(\[\|, \){[^]]*\]//g' "$work/out" | grep -o '"[a-z_]*":' | tr -d '":' | head -11 | tr '\n' ' ')
[ "$keys" = 'event model mode batch_size device nodes argument_bytes result_bytes code_bytes workspace_bytes steps ' ] ||
  complain "keys: $keys"
for keys in '{"name": [^ ]*, "op": [^ ]*, "algorithm": "[^"]*", "unit": 0, "scratch_bytes": [0-9]*, "nodes": \[{"name": [^ ]*, "op": [^ ]*}' \
  '"idle": \[' '{"memory": [^ ]*, "name": "[^"]*", "first": 0, "last": [0-9]*, "bytes": [0-9]*, "offset": [0-9]*, "values": \[' \
  '{"name": [^ ]*, "type": [^ ]*, "unit": 0, "bytes": [0-9]*, "offset": 0}' '"after": \['; do
  grep -q "$keys" "$work/out" || complain "no $keys"
done

# The text: a summary and steps, buffers where they are asked for, in 100 columns.
expect 0 '' "${plan[@]}" fashion --device cpu
grep -q 'fuses conv2d/conv_bias_act, max_pooling2d/max_pool$' "$work/out" || complain 'nothing is fused'
grep -qE '^workspace  .* for [0-9]+ buffers of .*: sharing saves .* %\)$' "$work/out" || complain "$(grep workspace "$work/out")"
grep -qE '^peak  .* buffers alive at step [0-9]+, ' "$work/out" || complain "$(grep peak "$work/out")"
[ "$(grep -c '  buffer [0-9]' "$work/out")" = 5 ] || complain "not the five largest buffers: $(grep buffer "$work/out")"
grep -q '^algorithms .* x ' "$work/out" || complain "$(grep algorithms "$work/out")"
grep -q '^step  ' "$work/out" || complain 'steps have no head line'
! grep -q 'reuses' "$work/out" || complain 'buffers are shown unasked'
for flag in --buffers --verbose; do
  expect 0 '' "${plan[@]}" fashion --device cpu $flag
  grep -q '^buffer  *offset' "$work/out" || complain 'buffers have no head line'
  grep -qE '^ +reuses the memory of [0-9]+' "$work/out" || complain 'no buffer reuses memory'
  awk '/^buffer  *offset/ { on = 1; last = -1; next } /^$/ { on = 0 }
       on && /^ *[0-9]+ +[0-9,]+ / { gsub(",", "", $2); if ($2 + 0 < last) exit 1; last = $2 + 0 }' "$work/out" ||
    complain 'buffers are not ordered by offset'
  [ "$(awk 'length > 100' "$work/out" | wc -l)" = 0 ] || complain "$(awk 'length > 100' "$work/out" | head -1)"
  ! grep -E '\.\.[^/]' "$work/out" || complain 'a name is cut within a component'
done

# A dense layer of 784 by 128 for 128 examples: 2 x 128 x 784 x 128 operations, and 128 x 784 + 784 x 128 + 128 + 128 x 128 numbers of 4
# bytes. Its value is alive until the next layer has read it.
expect 0 '' "${plan[@]}" mlp --mode predict --device cpu --buffers
for row in '^   0   25.7 M   848.5 KiB  .*dot_bias_act  dense/dot_bias_act$' '^     0  *0    64.0 KiB      0     1  dense/dot_bias_act f32\[128,128\]$' \
  '^steps       5 nodes became 4 steps$' '^            without a step: 1 reshape$' '^            values outside of it: 1 in arguments, 2 in results$' \
  '^  softmax in predict/probabilities$'; do
  grep -q "$row" "$work/out" || complain "mlp: no '$row' in: $(cat "$work/out")"
done

# Variables that a step updates are arguments, and no results beside them.
for device in cpu tpu-emulator; do
  expect 0 '' "${plan[@]}" mlp --device "$device"
  grep -qE '^memory .* results [0-9]+ B, ' "$work/out" || complain "mlp on $device: $(grep '^memory' "$work/out")"
done

# A terminal's width.
if command -v script >/dev/null; then
  for width in 80 160; do
    script -qc "stty cols $width; '$tenon' inspect plan fashion --device cpu --buffers" /dev/null </dev/null | tr -d '\r' >"$work/shown"
    grep -q 'reuses the memory of' "$work/shown" || complain "on a terminal: $(head -3 "$work/shown")"
    [ "$(awk -v w=$width 'length > w' "$work/shown" | wc -l)" = 0 ] || complain "$width columns: $(awk -v w=$width 'length > w' "$work/shown")"
  done
  ! grep -F '..' "$work/shown" || complain 'a name is cut on a wide terminal'
fi
finish
