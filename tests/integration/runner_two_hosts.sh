#!/bin/bash
# Training over ssh on two hosts, which are network namespaces with a wire of 1 Gbit/s between them, launched as
# share/launch/two_hosts.sh does it. Exit code 77, with a line that says why, where there can be none.
#   runner_two_hosts.sh TENON
. "$(dirname "$0")/runner_lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
hosts=$here/hosts.sh launch=$here/../../share/launch/two_hosts.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
left_out() {
  echo "left out: $*"
  exit 77
}

sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || left_out "no sshd here (package openssh-server)"
command -v ssh-keygen >/dev/null || left_out "no ssh here (package openssh-client)"
name=tenon$$
why=$("$hosts" up $name 2 1gbit 2>&1) || left_out "$why"
daemons=()
trap 'kill "${daemons[@]}" 2>/dev/null; "$hosts" down $name; rm -rf "$work"' EXIT

# sshd's own folder, which a system without its service lacks.
[ -d /run/sshd ] || mkdir -m 755 /run/sshd
for key in user host; do ssh-keygen -q -t ed25519 -N '' -f "$work/$key"; done
cat >"$work/sshd_config" <<END
HostKey $work/host
AuthorizedKeysFile $work/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
END
for i in 0 1; do
  "$hosts" run $name-$i "$sshd" -D -e -f "$work/sshd_config" 2>"$work/sshd-$i" &
  daemons+=($!)
done
ssh_flags="-q -i $work/user -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o BatchMode=yes"
export OMPI_MCA_plm_rsh_args=$ssh_flags
for _ in $(seq 50); do
  # shellcheck disable=SC2086  # words
  there=$("$hosts" run $name-0 ssh $ssh_flags 10.77.0.2 hostname 2>"$work/err") && break
  sleep 0.2
done
[ "$there" = $name-1 ] || left_out "nobody can log in to a host of one's own: $(cat "$work/err" "$work/sshd-1")"

printf '10.77.0.%d slots=1\n' 1 2 >"$work/hostfile"
together() { NETWORK=10.77.0.0/24 TENON=$tenon "$hosts" run $name-0 "$launch" "$work/hostfile" "$@" >"$work/out" 2>"$work/err"; }

together devices || complain "devices: $(cat "$work/err")"
for i in 0 1; do grep -q "^process $i on $name-$i: .*cpu (1 unit)" "$work/out" || complain "devices: $(cat "$work/out")"; done

make_idx "$work/idx" 256 90
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$work/data" --json
training=(train fashion --data_dir "$work/data" --train_batch_size 16 --train_steps 12 --threads 1 --json)
"$tenon" "${training[@]}" --device cpu:units=2 >"$work/out" 2>"$work/err" || complain "one process: $(cat "$work/err")"
expected=$(result hash)
together "${training[@]}" --device cpu --model_dir "$work/model" || complain "two hosts: $(cat "$work/err")"
[ -n "$expected" ] && [ "$(result hash)" = "$expected" ] || complain "two hosts: hash '$(result hash)', expected '$expected'"
expect 0 '' "$tenon" inspect checkpoint "$work/model"

# What goes over the wire goes on beside what is computed.
together train mlp --hidden 2048,2048 --synthetic --train_batch_size 128 --train_steps 8 --noevaluate --threads 1 --device cpu \
  --profile "$work/profile" || complain "profile: $(cat "$work/err")"
for rank in 0 1; do
  found=$(exchanges_in "$work/profile/plugins/profile"/*/rank_${rank}_*.trace.json.gz)
  [ "$found" = "rank $rank ($name-$rank): /host:CPU: exchanges beside ops" ] || complain "the trace of process $rank shows: $found"
done

# A mistake is one line, whatever the number of hosts.
together train mlp --synthetic --device cpu --train_batch_size 15 --train_steps 1
[ $? -eq 1 ] || complain "a batch that cannot be divided: $(cat "$work/err")"
[ "$(grep -c "tenon train: " "$work/err")" -eq 1 ] || complain "a batch that cannot be divided: $(cat "$work/err")"
finish
