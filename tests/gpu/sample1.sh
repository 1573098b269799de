#!/usr/bin/env bash
# Sample 1 (naive gemm at base, the suite's 2D tiling at head) judged on a real card, without GitHub.
# usage: tests/gpu/sample1.sh DEVICE OUT [key=value …]     needs CuPy; writes OUT/sample1.json and OUT/sample1.md
set -euo pipefail
device=$1 out=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
repo=$(mktemp -d)
trap 'rm -rf "$repo"' EXIT
git_() { git -C "$repo" -c user.name=kernelgate -c user.email=kernelgate@localhost "$@"; }
git_ init -q -b main
suite() { # the suite's gemm with the cases that the naive kernel knows too
  mkdir -p "$repo/kernels"
  cp -r "$root/kernels/gemm" "$repo/kernels/"
  mv "$repo/kernels/gemm/cases.py" "$repo/kernels/gemm/every_case.py"
  cp "$root/bot/forge/samples/narrowed/gemm/cases.py" "$repo/kernels/gemm/"
}
suite
cp -r "$root/bot/forge/samples/main/gemm/." "$repo/kernels/gemm/"
find "$repo" -name __pycache__ -prune -exec rm -rf {} +
git_ add -A
git_ commit -qm "naive gemm"
rm -rf "$repo/kernels/gemm"
suite
find "$repo" -name __pycache__ -prune -exec rm -rf {} +
git_ add -A
git_ commit -qm "2D tiling"
status=0
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} python3 -m bot.cli.main run "$@" --repo "$repo" --base HEAD~1 --head HEAD --device "$device" \
  --json "$out/sample1.json" --markdown "$out/sample1.md" || status=$?
echo "kernelgate run: exit $status"
exit "$status"
