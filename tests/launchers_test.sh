#!/usr/bin/env bash
# The program under launchers as users start them: torchrun from the environment of tools/python-venv, and those of mpirun and
# srun that are installed (Debian: openmpi-bin; slurm-wlm, with its daemons running). Two processes evaluate as one does; one
# that is killed ends the other, and another number of processes goes on from the checkpoint; torchrun starts them again itself.
#   launchers_test.sh SOURCE BUILD [LAUNCHER...]        launchers: torchrun, mpirun, srun; those that are there
# Exit code 77 if none is.
set -euo pipefail
source=$1 build=$2
shift 2
quench=$build/quench demo=$source/examples/demo
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset MASTER_ADDR MASTER_PORT RANK WORLD_SIZE LOCAL_RANK
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() { echo "launchers_test: $*" >&2; exit 1; }
data() { echo "idx:$demo/images.gz?labels=$demo/labels.gz&norm=mnist&offset=$1&limit=$2"; }
evaluate() { "$@" "$quench" eval "$demo/fashion_cnn.onnx" --data "$(data 0 100)" --predictions "$out"; }
train() {
  "$@" "$quench" train "$demo/fashion_cnn.onnx" --platform onnxruntime --train "$(data 0 64)" --epochs 200 --train-batch 8 \
    --set train.checkpoint_every=2 --set train.max_steps="$steps" --resume -o "$out"
}
steps_done() { tail -n 1 "$out/training/steps.csv" | cut -d, -f1; }
appears() { for _ in $(seq 1200); do [ -e "$1" ] && return; sleep 0.05; done; fail "$1 does not appear"; }
# One of the two processes of the training in $out.
one_of_them() {
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe" 2> /dev/null)" = "$(readlink -f "$quench")" ] || continue
    if tr '\0' ' ' < "$process/cmdline" | grep -q -e " -o $out \$"; then echo "${process#/proc/}"; fi
  done | tail -n 1
}

kill_one() {
  local process
  process=$(one_of_them)
  [ -n "$process" ] || fail "the training in $out ended before it could be killed"
  kill -KILL "$process"
}

try_evaluating() {
  out=$folder/$1.json evaluate "${@:2}" > "$1.log" 2>&1 || { cat "$1.log"; fail "eval under $1 failed"; }
  cmp alone.json "$1.json" || fail "two processes under $1 do not predict as one"
}

try_killing() {
  local name=$1 killed
  out=$folder/$name steps=200
  train "${@:2}" > "$name.log" 2>&1 & local launcher=$!
  appears "$out/training/checkpoint.safetensors"
  kill_one
  killed=$SECONDS
  if wait "$launcher"; then fail "$name says nothing of a process that was killed"; fi
  [ $((SECONDS - killed)) -le 20 ] || fail "under $name the others went on for $((SECONDS - killed)) s"
  train > "$name.log" 2>&1 || { cat "$name.log"; fail "one process cannot resume what $name left"; }
  grep -q "resumed at step" "$name.log" || fail "the run of $name was not resumed"
  [ "$(steps_done)" = "$steps" ] || fail "the resumed run of $name ended at step $(steps_done)"
}

try_restarting() {
  out=$folder/restarted steps=200
  train "$@" > restarted.log 2>&1 & local launcher=$!
  appears "$out/training/checkpoint.safetensors"
  kill_one
  wait "$launcher" || { cat restarted.log; fail "torchrun could not start them again"; }
  [ "$(steps_done)" = "$steps" ] || fail "the restarted run ended at step $(steps_done)"
}

command_of() {
  case $1 in
    torchrun)
      local python
      python=$("$source/tools/python-venv") && echo "$(dirname "$python")/torchrun --no-python --nproc-per-node 2"
      ;;
    mpirun) command -v mpirun > /dev/null && echo "mpirun -n 2 --oversubscribe" ;;
    srun) command -v srun > /dev/null && sinfo > /dev/null 2>&1 && echo "srun -n 2" ;;
  esac
}

tried=0
out=$folder/alone.json evaluate > alone.log
[ $# -gt 0 ] || set -- torchrun mpirun srun
for name in "$@"; do
  case $name in torchrun | mpirun | srun) ;; *) fail "unknown launcher '$name'; known: torchrun, mpirun, srun" ;; esac
done
for name in "$@"; do
  launcher=$(command_of "$name") || { echo "$name: not here"; continue; }
  # shellcheck disable=SC2086  # a command is several words
  {
    try_evaluating "$name" $launcher
    if [ "$name" = torchrun ]; then try_restarting $launcher --max-restarts 1; else try_killing "$name" $launcher; fi
  }
  echo "$name: passed"
  tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || exit 77
