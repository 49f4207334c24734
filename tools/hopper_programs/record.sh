#!/bin/bash
# SPDX-License-Identifier: MIT
# record.sh OUT [WORKERS]: run each program of this folder with the recorder; OUT gets hopper.tar.xz.00, .01, ...
here=$(cd "$(dirname "$0")" && pwd)
out=$1
workers=${2:-4}
raw=$(mktemp -d)
mkdir -p "$out"
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
chmod +x "$here"/bin/* 2>/dev/null

run_one() {
    IFS=$'\t' read -r name only each arguments <<<"$1"
    mkdir -p "$raw/$name"
    # shellcheck disable=SC2086
    timeout -k 5 60 env LAUNCH_RECORDER_OUT="$raw/$name" LAUNCH_RECORDER_ONLY="$only" LAUNCH_RECORDER_EACH="$each" \
        LD_PRELOAD="$here/lib/liblaunch_recorder.so" "$here/bin/$name" $arguments >"$raw/$name/log.txt" 2>&1
    status=$?
    echo "exit status $status" >>"$raw/$name/log.txt"
    echo "$name: exit status $status, $(find "$raw/$name" -name launch.json | wc -l) launches"
}
export -f run_one
export here raw

{
    date -u +%Y-%m-%d
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    ldd --version | head -1
} >"$raw/machine.txt" 2>&1
tr '\n' '\0' <"$here/programs.tsv" | xargs -0 -P "$workers" -I{} bash -c 'run_one "$1"' _ {}
grep -L "exit status 0" "$raw"/*/log.txt | while read -r log; do
    echo "--- $log"
    tail -5 "$log"
done
if command -v xz >/dev/null; then
    tar -C "$raw" -cf - . | xz -T0 -6 >"$raw.tar.xz"
else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[2], "w:xz").add(sys.argv[1], ".")' "$raw" "$raw.tar.xz"
fi
split -b 15000000 -d "$raw.tar.xz" "$out/hopper.tar.xz."
du -sh "$raw"
ls -l "$out"
rm -rf "$raw" "$raw.tar.xz"
