#!/bin/sh
# resnet1001_trains.sh PLAIT: the deep network of the paper, torn in two, really learns and keeps its memory.
set -eu
plait=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

train() {  # STEPS RUN-DIR
  "$plait" train --model resnet1001 --data glyphs --train-limit 80 --test-limit 16 --batch 16 --steps "$1" \
    --strategy parareal --pieces 2 --workers 2 --threads 1 --lr 0.02 --run-dir "$2" --json --quiet
}
field() {  # NAME, of the JSON on stdin
  sed "s/.*\"$1\":\([0-9.eE+-]*\).*/\1/"
}

few=$(train 5 "$folder/few" | field peak_memory_bytes)
many=$(train 20 "$folder/run" | field peak_memory_bytes)
echo "peak memory after 5 steps $few, after 20 steps $many bytes"
awk "BEGIN { exit !($many < 1.03 * $few) }" || { echo "memory grows with the steps"; exit 1; }

first=$(sed -n 1p "$folder/run/metrics.jsonl" | field train_loss)
last=$(sed -n 4p "$folder/run/metrics.jsonl" | field train_loss)
echo "train loss of the first 5 steps $first, of the last 5 $last"
awk "BEGIN { exit !($last < $first) }" || { echo "the loss does not fall"; exit 1; }
