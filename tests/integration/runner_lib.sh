# Sourced by the runner's tests: a small data set, and checks of exit codes and messages.
#   runner_NAME.sh TENON
set -u
tenon=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work/home"
unset XDG_DATA_HOME TENON_PLUGIN_PATH
failures=0

complain() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

finish() {
  [ "$failures" -eq 0 ] || exit 1
  echo "all as expected"
  exit 0
}

# IDX files of $2 training and $3 test images of 8x8: class c of 4 has a bright row 2c, plus noise. Gzip'd when gzip is there.
make_idx() {
  mkdir -p "$1"
  perl -e '
    my ($dir, @counts) = @ARGV;
    my $state = 12345;
    for my $prefix ("train", "t10k") {
      my $n = shift @counts;
      open(my $images, ">:raw", "$dir/$prefix-images-idx3-ubyte") or die;
      open(my $labels, ">:raw", "$dir/$prefix-labels-idx1-ubyte") or die;
      print $images pack("NNNN", 0x803, $n, 8, 8);
      print $labels pack("NN", 0x801, $n);
      for my $i (0 .. $n - 1) {
        my $c = $i % 4;
        print $labels chr($c);
        for my $p (0 .. 63) {
          $state = ($state * 1103515245 + 12345) & 0x7fffffff;
          print $images chr((int($p / 8) == 2 * $c ? 160 : 20) + ($state >> 16) % 60);
        }
      }
    }' "$1" "$2" "$3"
}

# An ONNX file of lines on standard input: opset N | input NAME TYPE DIMS | tensor NAME TYPE DIMS NUMBERS | external NAME TYPE DIMS FILE OFFSET | node OP NAME INPUTS OUTPUTS
# [ATTRIBUTE=N].. | output NAME TYPE DIMS. Lists have commas; a dimension may be a name; types are ONNX's numbers; %0a in a name is a line's end, %00 a NUL.
make_onnx() {
  perl -e '
    sub varint { my ($n, $out) = ($_[0], ""); while ($n > 127) { $out .= chr($n & 127 | 128); $n >>= 7 } $out . chr($n) }
    sub field { my $text = $_[1]; $text =~ s/%0a/\n/g; $text =~ s/%00/\0/g; varint($_[0] << 3 | 2) . varint(length $text) . $text }
    sub number { varint($_[0] << 3) . varint($_[1]) }
    sub list { split /,/, $_[0] // "" }
    sub value {
      my ($name, $type, $dims) = @_;
      my $shape = join "", map { field(1, /^\d+$/ ? number(1, $_) : field(2, $_)) } list($dims);
      field(1, $name) . field(2, field(1, number(1, $type) . field(2, $shape)));
    }
    my %pack = (1 => "f<", 7 => "q<", 11 => "d<");
    my ($opset, $graph) = (18, "");
    binmode STDOUT;
    while (my $line = <STDIN>) {
      chomp $line;
      my ($what, @w) = split / /, $line;
      $opset = $w[0] if $what eq "opset";
      $graph .= field($what eq "input" ? 11 : 12, value(@w)) if $what eq "input" || $what eq "output";
      $graph .= field(5, join("", map { number(1, $_) } list($w[2])) . number(2, $w[1]) . field(8, $w[0]) .
                         field(9, join "", map { pack($pack{$w[1]}, $_) } list($w[3]))) if $what eq "tensor";
      $graph .= field(5, join("", map { number(1, $_) } list($w[2])) . number(2, $w[1]) . field(8, $w[0]) . number(14, 1) .
                         field(13, field(1, "location") . field(2, $w[3])) . field(13, field(1, "offset") . field(2, $w[4])))
        if $what eq "external";
      $graph .= field(1, join("", map { field(1, $_) } list($w[2])) . join("", map { field(2, $_) } list($w[3])) .
                         field(3, $w[1]) . field(4, $w[0]) .
                         join "", map { my ($a, $n) = split /=/; field(5, field(1, $a) . number(3, $n) . number(20, 2)) } @w[4 .. $#w])
        if $what eq "node";
    }
    print number(1, 8) . field(7, $graph) . field(8, number(2, $opset))'
}

# expect CODE PATTERN COMMAND..: the exit code, and one line on standard error that contains PATTERN (a fixed string).
expect() {
  local code=$1 pattern=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  local found=$?
  [ "$found" -eq "$code" ] || complain "$*: exit code $found, expected $code: $(cat "$work/err")"
  if [ "$code" -eq 0 ]; then
    [ ! -s "$work/err" ] || complain "$*: wrote to standard error: $(cat "$work/err")"
    return
  fi
  [ "$(wc -l <"$work/err")" -eq 1 ] || complain "$*: expected one line on standard error, found: $(cat "$work/err")"
  grep -qF -e "$pattern" "$work/err" || complain "$*: expected '$pattern' in: $(cat "$work/err")"
}

# The value of a key in the last line of $work/out, as the command before left it.
result() {
  tail -n 1 "$work/out" | sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

# Whether the first process of a trace's file has exchanges, and whether any went on beside an op: "NAME: exchanges beside ops".
exchanges_in() {
  gzip -dc "$1" | perl -MJSON::PP -e '
    my (%lines, @exchanges, @ops, $process);
    local $/;
    for my $e (@{decode_json(<STDIN>)->{traceEvents}}) {
      $lines{$e->{tid}} = $e->{args}{name} if $e->{pid} == 1 && $e->{name} eq "thread_name";
      $process = $e->{args}{name} if $e->{pid} == 1 && $e->{name} eq "process_name";
      next if $e->{ph} ne "X" || $e->{pid} != 1;
      push @exchanges, $e if $lines{$e->{tid}} =~ /^Exchanges/;
      push @ops, $e if $lines{$e->{tid}} eq "XLA Ops";
    }
    my $beside = grep { my $x = $_; grep { $_->{ts} < $x->{ts} + $x->{dur} && $x->{ts} < $_->{ts} + $_->{dur} } @ops } @exchanges;
    print $process, ": ", scalar(@exchanges) > 0 ? "exchanges" : "none", $beside > 0 ? " beside ops" : " alone"'
}
