#!/usr/bin/env bash
# All that only a card can say, in one go: its tests, false alarms and power on it, and sample 1. Needs CuPy and pytest; no network.
# usage: tests/gpu/measure.sh DEVICE OUT [tests|live|sample|tiers|crashes …]     without a part, the first three (twelve minutes on an H200); exit 1 if one of them fails
set -uo pipefail
device=$1 out=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 2
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} KG_TEST_DEVICE=$device PYTHONUNBUFFERED=1
failed=0
part() { # NAME COMMAND…
  local name=$1 began=$SECONDS
  shift
  "$@" >"$out/$name.txt" 2>&1 || { failed=1; echo "$name: exit $?"; }
  echo "== $name, $((SECONDS - began)) s"
  tail -n 40 "$out/$name.txt"
}
[ $# -gt 0 ] || set -- tests live sample
for name in "$@"; do
  case $name in
    tests) part tests python3 -m pytest -q -rA tests/gpu/test_cuda_card.py tests/gpu/test_la_on_card.py tests/gpu/test_roofline_on_card.py ;;
    tiers) part tiers python3 -m pytest -q -rA tests/gpu/test_tiers_on_card.py ;;
    crashes) part crashes timeout 240 python3 -m pytest -q -rA tests/gpu/test_crashes_on_card.py ;;
    live) part live python3 -m bot.cli.main bench live --device "$device" --json "$out/live.json" ;;
    sample) part sample bash tests/gpu/sample1.sh "$device" "$out" models=llama-1b kernels=gemm ;;
    *) echo "$name is no part: tests, live, sample, tiers or crashes" >&2; exit 2 ;;
  esac
done
exit $failed
