#!/bin/bash
# Network namespaces as the hosts of a cluster, each with a name of its own, on one switch. As root.
#   hosts.sh up NAME COUNT [RATE]     makes NAME-0 .. at 10.77.0.1 ..; each sends RATE at most, as in 1gbit
#   hosts.sh cut|mend NAME HOST       takes the host's cable out, or puts it back
#   hosts.sh down NAME                removes them all
#   hosts.sh run HOST COMMAND..       there
#   hosts.sh shell NAME ADDRESS WORD..       what ssh does: mpirun's --mca plm_rsh_agent "hosts.sh shell NAME"
# Exit code: 77 where no namespaces can be made, with a line that says why.
set -u
network=10.77.0

fail() {
  echo "hosts: $*" >&2
  exit 1
}

down() { # NAME
  local host
  for host in $(ip netns list 2>/dev/null | awk -v name="$1-" 'index($1, name) == 1 { print $1 }'); do ip netns del "$host"; done
}

up() { # NAME COUNT RATE
  local name=$1 count=$2 rate=$3 i host
  command -v ip >/dev/null || { echo "no ip here (package iproute2)"; exit 77; }
  [ -z "$rate" ] || command -v tc >/dev/null || { echo "no tc here (package iproute2)"; exit 77; }
  ip netns add "$name-switch" 2>/dev/null || { echo "no network namespaces can be made here, as root can where it is let"; exit 77; }
  ip -n "$name-switch" link add switch type bridge 2>/dev/null ||
    { down "$name"; echo "no bridge can be made in a network namespace here"; exit 77; }
  ip -n "$name-switch" link set switch up
  for ((i = 0; i < count; ++i)); do
    host=$name-$i
    ip netns add "$host" &&
      ip -n "$host" link add net type veth peer name "port$i" netns "$name-switch" &&
      ip -n "$name-switch" link set "port$i" master switch up &&
      ip -n "$host" addr add "$network.$((i + 1))/24" dev net &&
      ip -n "$host" link set lo up &&
      ip -n "$host" link set net up || { down "$name"; fail "$host cannot be made"; }
    [ -z "$rate" ] || ip netns exec "$host" tc qdisc add dev net root tbf rate "$rate" burst 256kb latency 50ms ||
      { down "$name"; fail "$host: tc cannot shape to $rate"; }
  done
}

run() { # HOST COMMAND..: a namespace has no name that programs could ask for; another kind of namespace does.
  local host=$1
  shift
  # shellcheck disable=SC2016  # words of the inner shell
  exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
}

case ${1:-} in
  up) up "$2" "$3" "${4:-}" ;;
  cut) ip -n "$2-switch" link set "port${3##*-}" down ;;
  mend) ip -n "$2-switch" link set "port${3##*-}" up ;;
  down) down "$2" ;;
  run) shift; run "$@" ;;
  shell)
    host=$2-$((${3##*.} - 1))
    shift 3
    run "$host" sh -c "$*" ;;
  *) sed -n '2,8s/^# *//p' "$0" >&2; exit 2 ;;
esac
