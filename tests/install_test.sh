#!/usr/bin/env bash
# Installs into a temporary prefix, builds examples/out_of_tree against nothing but that prefix, runs it, and
# inspects what it wrote with the installed program.   install_test.sh SOURCE BUILD MODEL
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
"$work/build/quantize" "$model" "idx:$(dirname "$model")/images.gz?norm=mnist&limit=8" "$work/files_of_library" | tee "$work/made"
grep -q '^[1-9][0-9]* quantizers, 2 files$' "$work/made"
test -s "$work/files_of_library/model_qdq.onnx"
"$work/build/zoo" | tee "$work/zoo"
grep -q 'alike: 1$' "$work/zoo"
"$work/prefix/bin/quench" inspect "$work/out.onnx" > "$work/table"
grep -q '^probabilities *Softmax' "$work/table"
tail -4 "$work/table"

# The installed program finds the scripts of runtimes: with them it gets as far as the interpreter.
data="idx:$(dirname "$model")/images.gz?norm=mnist&limit=8"
"$work/prefix/bin/quench" quantize "$model" --platform onnxruntime --calib "$data" -o "$work/int8" --profile 0 > /dev/null
"$work/prefix/bin/quench" deploy "$work"/int8/*.quench.onnx -o "$work/files" > /dev/null
if QUENCH_PYTHON=/no/such/python "$work/prefix/bin/quench" verify "$work/files" --data "$data" 2> "$work/errors"; then exit 1; fi
grep -q "cannot start '/no/such/python'" "$work/errors"
