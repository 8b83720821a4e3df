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
