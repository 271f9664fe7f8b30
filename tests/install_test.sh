#!/usr/bin/env bash
# Installs into a temporary prefix, builds examples/out_of_tree against it from nothing but that prefix, runs
# it, and looks at what it wrote with the installed program.   install_test.sh SOURCE BUILD MODEL
set -euo pipefail
source=$1 build=$2 model=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" > /dev/null
cmake -S "$source/examples/out_of_tree" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" > /dev/null
cmake --build "$work/build"
said=$("$work/build/out_of_tree" "$model" "$work/out.onnx")
echo "$said"
grep -q '^probabilities of shape .*, sum 1$' <<< "$said"
"$work/build/zoo" | tee "$work/zoo"
grep -q 'alike: 1$' "$work/zoo"
"$work/prefix/bin/quench" inspect "$work/out.onnx" > "$work/table"
grep -q '^probabilities *Softmax' "$work/table"
tail -4 "$work/table"
