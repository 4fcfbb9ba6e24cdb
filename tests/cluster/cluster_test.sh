#!/bin/bash
# cluster_test.sh PLAIT: the cluster on one machine keeps its rate, gives the bits of threads, ends when a
# worker dies or a signal comes, and leaves nothing behind. Exit code 77 where the machine cannot have one.
set -u

plait=$(realpath "$1")
cluster=$(realpath "$(dirname "$0")/../../bench/cluster/cluster")
name=t$$  # at most 8 characters: process ids have at most 7 digits
failures=0

reason=$("$cluster" check) || { echo "skipped: $reason"; exit 77; }

work=$(mktemp -d)
trap '"$cluster" down --name "$name"; rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# expect_code CODE COMMAND...
expect_code() {
  local code=$1 found
  shift
  "$@" >out 2>err
  found=$?
  [ $found -eq "$code" ] || fail "exit code $found instead of $code: $* $(cat out err)"
}

# 124 after five minutes: that something hangs. Nothing else here looks at the clock.
on_cluster() { timeout 300 "$cluster" run --name "$name" --workers-per-node "$@"; }
host_interfaces() { ip -o link | cut -d: -f2 | sort; }
processes() { grep -lzs "^PLAIT_CLUSTER_RUN=plait-$name-run-" /proc/[0-9]*/environ; }

kept=("$plait" train --cost analytic --model lenet --data glyphs --threads 1 --train-limit 600 --test-limit 64 --json --quiet)
train=("${kept[@]}" --run-dir none)
synchronous=(--strategy data_parallel)
cycling=(--strategy daso --warmup-epochs 0 --cooldown-epochs 0 --exchange-every 2)

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

# rank NUMBER: its process, once it is there.
rank() {
  local process
  for _ in $(seq 2000); do
    for process in $(ip netns pids "plait-$name-0") $(ip netns pids "plait-$name-1"); do
      grep -qzs "^OMPI_COMM_WORLD_RANK=$1\$" "/proc/$process/environ" || continue
      [ "$(readlink "/proc/$process/exe")" = "$plait" ] && echo "$process" && return
    done
    sleep 0.05
  done
}

mistakes_take_one_line() {
  expect_code 2 "$cluster" up --nodes 2 --rate fast
  [ "$(wc -l <err)" -eq 1 ] || fail "a mistake and these lines: $(cat err)"
  expect_code 2 "$cluster" up --nodes 2 --rate 1gbit --name much_too_long
  expect_code 2 "$cluster" rate --name "$name"
  expect_code 0 "$cluster" down --name "$name"
}

# carried NODE: bytes that have left the node's link.
carried() { tc -n "plait-$name-$1" -s qdisc show dev net0 | sed -n 's/ *Sent \([0-9]*\) bytes.*/\1/p'; }

# Bytes pass through the link that is held to the rate, and are never faster. How much slower is the machine's affair.
keeps_the_rate() {
  local found before after
  tc -n "plait-$name-0" qdisc show dev net0 | grep -q ' rate 100Mbit ' ||
    fail "the link has another rate: $(tc -n "plait-$name-0" qdisc show dev net0)"
  before=$(($(carried 0) + $(carried 1)))
  found=$("$cluster" rate --name "$name" | sed -n 's/.*: \([0-9]*\)[.0-9]* Mbit.*from.*/\1/p')
  after=$(($(carried 0) + $(carried 1)))
  echo "rate: ${found:-none} Mbit/s of 100, $((after - before)) bytes by the links"
  if [ "${found:-0}" -lt 1 ] || [ "$found" -gt 120 ]; then fail "${found:-no} Mbit/s instead of 100"; fi
  [ $((after - before)) -gt 1000000 ] || fail "only $((after - before)) bytes went by the links"
}

# same_bits WORKERS_PER_NODE FLAG...
same_bits() {
  local alone workers=$1
  shift
  alone=$("${train[@]}" "$@" --steps 5 --nodes 2 --workers-per-node "$workers" | field weights_hash)
  expect_code 0 on_cluster "$workers" -- "${train[@]}" "$@" --steps 5
  echo "$2, 2 nodes x $workers: $(field weights_hash <out), threads: $alone"
  [ "$(field nodes <out)" = 2 ] || fail "not two nodes: $(cat out)"
  [ "$(field weights_hash <out)" = "${alone:-none}" ] || fail "other bits than on threads: $(cat out)"
}

# death WORKERS_PER_NODE RANK LINE FLAG...: the rank, of the second node, is killed after the first epoch; somebody says
# LINE.
death() {
  local job victim code
  rm -rf dying
  on_cluster "$1" -- "${kept[@]}" --run-dir dying "${@:4}" --epochs 1000 >out 2>err &
  job=$!
  victim=$(rank "$2")
  while [ ! -s dying/metrics.jsonl ] && kill -0 $job 2>/dev/null; do sleep 0.1; done
  kill -9 "${victim:?no rank $2}"
  wait $job
  code=$?
  echo "2 nodes x $1: death of rank $2 ended the job with code $code: $(grep -E "$3" err)"
  [ $code -ne 0 ] || fail "exit code 0 after a death"
  [ $code -ne 124 ] || fail "a death did not end the job"
  grep -qE "$3" err || fail "nobody said '$3': $(cat err)"
}

# Twenty times a random rank dies at a random moment, most of them with weights under way; each life goes on where
# the last checkpoint was, and the end has the bits of a run that nobody killed.
twenty_deaths() {
  local life job victim code deaths=0 flags=("${cycling[@]}" --epochs 60 --checkpoint-every 3)
  local whole
  whole=$("${train[@]}" "${flags[@]}" --nodes 2 --workers-per-node 1 | field weights_hash)
  for life in $(seq 20); do
    on_cluster 1 -- "${kept[@]}" "${flags[@]}" --run-dir killed $([ -d killed ] && echo --resume) >out 2>err &
    job=$!
    victim=$(rank $((RANDOM % 2)))
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    kill -9 "${victim:?no rank}" 2>/dev/null
    wait $job
    code=$?
    [ $code -ne 0 ] && deaths=$((deaths + 1))
    [ $code -ne 124 ] || fail "death $deaths did not end the job"
    ls killed/checkpoints >/dev/null 2>&1 || rm -rf killed
  done
  echo "$deaths deaths ended the job; then on threads to the end"
  [ $deaths -eq 20 ] || fail "only $deaths of 20 lives ended by a death"
  [ -d killed/checkpoints ] || fail "no life left a checkpoint"
  "${kept[@]}" "${flags[@]}" --nodes 2 --workers-per-node 1 --run-dir killed --resume >out 2>err ||
    fail "cannot go on: $(cat err)"
  [ "$(field weights_hash <out)" = "${whole:-none}" ] || fail "other bits after 20 deaths: $(cat out)"
}

# A worker that is suspended for longer than a step takes, over and over after the first epoch, is named, and the run ends
# as always. It gets on by a few milliseconds each time, so that others who use the machine do not matter.
straggler_is_named() {
  local job victim
  on_cluster 1 -- "${kept[@]}" --strategy daso --warmup-epochs 0 --cooldown-epochs 0 --exchange-every 8 --batch 200 --epochs 6 \
    --run-dir slow >out 2>err &
  job=$!
  victim=$(rank 1)
  while [ ! -s slow/metrics.jsonl ] && kill -0 $job 2>/dev/null; do sleep 0.01; done
  while kill -STOP "$victim" 2>/dev/null; do
    sleep 0.4
    kill -CONT "$victim" 2>/dev/null
    sleep 0.01
  done
  wait $job || fail "a slow worker and exit code $?: $(cat err)"
  echo "straggler: $(grep -o '"straggler":[^}]*}' out)"
  grep -q '"straggler":{"worker":1' out || fail "worker 1 is slow and nobody says so: $(cat out)"
}

nan_ends_the_job() {
  expect_code 2 on_cluster 1 -- "${train[@]}" "${cycling[@]}" --lr 1e30 --epochs 50
  grep -q "on worker [01]; block" err || fail "a NaN, and no worker is named: $(cat err)"
}

# signal NAME CODE
signal() {
  local job code
  "$cluster" run --name "$name" --workers-per-node 1 -- "${train[@]}" "${synchronous[@]}" --epochs 1000 >out 2>err &
  job=$!
  rank 1 >/dev/null
  kill "-$1" $job
  wait $job
  code=$?
  [ $code -eq "$2" ] || fail "exit code $code after SIG$1"
  [ -z "$(processes)" ] || fail "left after SIG$1: $(processes)"
}

nothing_is_left() {
  expect_code 0 "$cluster" down --name "$name"
  ! ip netns list | grep -q "plait-$name-" || fail "namespaces: $(ip netns list)"
  [ "$(host_interfaces)" = "$interfaces" ] || fail "interfaces: $(host_interfaces)"
  [ -z "$(processes)" ] || fail "processes: $(processes)"
  [ -z "$(ls -d "/tmp/plait-$name-run-"* /dev/shm/*"plait-$name-"* 2>/dev/null)" ] || fail "files are left"
  expect_code 0 "$cluster" down --name "$name"
}

interfaces=$(host_interfaces)
mistakes_take_one_line
expect_code 0 "$cluster" up --nodes 2 --rate 100mbit --name "$name"
expect_code 2 "$cluster" up --nodes 2 --rate 100mbit --name "$name"
keeps_the_rate
expect_code 3 on_cluster 1 -- sh -c 'exit 3'
same_bits 1 "${synchronous[@]}"
same_bits 2 "${synchronous[@]}"
same_bits 1 "${cycling[@]}"
same_bits 2 "${cycling[@]}"
death 1 1 "rank 1 with PID [0-9]+ on node plait-$name-1 exited on signal 9" "${synchronous[@]}"
death 1 1 "^plait: worker 1 on .* is gone: its process has ended" "${synchronous[@]}"
death 1 0 "^plait: worker 0 on .* is gone: its process has ended" "${synchronous[@]}"
death 2 2 "^plait: worker 2 died " "${synchronous[@]}"
death 2 3 "^plait: worker 3 died " "${synchronous[@]}"
death 2 3 "^plait: worker 3 died " "${cycling[@]}"
twenty_deaths
straggler_is_named
nan_ends_the_job
signal TERM 143
nothing_is_left
[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
