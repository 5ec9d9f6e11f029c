#!/usr/bin/env bash
# What only a machine with a GPU can show: that the CUDA path agrees with the CPU path, makes no bad
# access to memory, and how long the studies take on it. results/README.md says what is left where.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tests/gpu/check.sh [OPTION]... FOLDER

Builds the CUDA path unless it is built, checks that it agrees with the CPU path, runs it under
compute-sanitizer, then runs the studies. A step that fails does not stop those after it.

  FOLDER          for results, logs/STEP.log and summary.txt: a line a step with its name, exit code
                  (or skipped, not-run) and seconds
  --list          print the steps with their time limits, run none
  --only A,B      run these steps alone
  --limit SECONDS of all steps together; 540 where not given
  --build FOLDER  where the program breakeven is; build/gpu_kit, else build/cuda where not given
  --rehearse      try the steps without a GPU: the path host stands in for cuda, and the program is
                  that of build/release where no --build is given. Says nothing about a GPU.

Exit code: 0 all steps passed or had nothing to run on, 1 a step failed or was not run, 2 wrong
usage, 3 no GPU.
TEXT
}

# Name, time limit in seconds, what it does; in order of importance. step.sh has their commands.
all_steps() {
  cat <<'TEXT'
machine 20 the card, its driver and the processor
build 360 the program, from the kit of tests/gpu/pack.sh or by the preset cuda
agree_render 60 rays and pictures
agree_refit 60 the same with boxes moved instead of trees built anew
agree_denoising 60 labels after every kind of denoising, to the bit
agree_shapes 60 labels after morphology, distances and watershed, to the bit
agree_unet_fp32 60 labels of a network, by Dice
agree_unet_tf32 60 the same on tensor cores, in TF32
agree_unet_fp16 60 the same in FP16
agree_trees 60 boosted trees, to the bit
agree_scores 60 margins of rows, to the bit
agree_network_fp32 60 a network for tabular data, by its AUC
agree_network_fp16 60 the same on tensor cores, in FP16
agree_network_bf16 60 the same in BF16
agree_book 60 the worst paths of value at risk, to the bit
memcheck 120 part of agree_shapes under compute-sanitizer
crash_render 150 study
ct_segmentation 100 study
ct_unet 120 study
ct_night_queue 130 study, with its cases side by side
fraud_training 100 study
fraud_network 100 study
fraud_scoring 80 study
var_overnight 80 study
car6_street 120 study; its files lie beside the checkout
TEXT
}

wrong_usage() {
  echo "check.sh: $1" >&2
  usage >&2
  exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
path=cuda
build=""
limit_s=540
only=""
out=""
while [[ $# -gt 0 ]]; do
  case $1 in
  --help | -h)
    usage
    exit 0
    ;;
  --list)
    all_steps | while read -r name seconds what; do
      printf '%-18s %4s s  %s\n' "$name" "$seconds" "$what"
    done
    exit 0
    ;;
  --rehearse) path=host ;;
  --only | --limit | --build)
    [[ $# -ge 2 ]] || wrong_usage "$1 without a value"
    case $1 in
    --only) only=$2 ;;
    --limit) limit_s=$2 ;;
    --build) build=$2 ;;
    esac
    shift
    ;;
  -*) wrong_usage "unknown option $1" ;;
  *)
    [[ -z $out ]] || wrong_usage "more than one folder"
    out=$1
    ;;
  esac
  shift
done
[[ $limit_s =~ ^[1-9][0-9]*$ ]] || wrong_usage "--limit $limit_s, expected seconds"
for name in ${only//,/ }; do
  grep -q "^$name " <(all_steps) || wrong_usage "unknown step $name; --list names them"
done
[[ -n $out ]] || wrong_usage "no folder for the results"

if [[ $path == cuda ]] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "check.sh: no GPU: nvidia-smi finds none. Nothing was run; --rehearse tries the steps." >&2
  exit 3
fi
if [[ -z $build && $path == host ]]; then
  build=$root/build/release
elif [[ -z $build && -f $root/build/gpu_kit.tar.gz ]]; then
  build=$root/build/gpu_kit
elif [[ -z $build ]]; then
  build=$root/build/cuda
fi

mkdir -p "$out/logs"
out=$(cd "$out" && pwd)
: >"$out/summary.txt"
failed=0
readonly least_s=5 # with less of the time limit left nothing is begun
readonly skipped=77

# run_step NAME SECONDS: stopped at its own time limit or at that of the whole run.
run_step() {
  local name=$1 own_s=$2 begin_s=$SECONDS left_s=$((limit_s - SECONDS)) result=0
  if ((left_s < least_s)); then
    result=not-run
  else
    timeout --kill-after=20 "$((own_s < left_s ? own_s : left_s))" \
      "$here/step.sh" "$name" "$path" "$build" "$out" >"$out/logs/$name.log" 2>&1 </dev/null \
      || result=$?
  fi
  if [[ $result == "$skipped" ]]; then
    result=skipped
  elif [[ $result != 0 ]]; then
    failed=1
  fi
  printf '%-18s %7s %5d\n' "$name" "$result" "$((SECONDS - begin_s))" | tee -a "$out/summary.txt"
}

while read -r name seconds _; do
  [[ -z $only || ,$only, == *,$name,* ]] || continue
  run_step "$name" "$seconds"
  [[ $name != machine ]] || cat "$out/logs/machine.log"
done < <(all_steps)
exit "$failed"
