#!/usr/bin/env bash
# Installs into a temporary prefix, builds examples/add_backend and examples/add_lsq against nothing but that prefix, and
# takes a network through all stages with each.   plugin_projects_test.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
demo=$source/examples/demo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" > /dev/null
quench=$work/prefix/bin/quench
for example in add_backend add_lsq; do
  cmake -S "$source/examples/$example" -B "$work/$example" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_BUILD_TYPE=Release > /dev/null
  cmake --build "$work/$example"
done
images() { echo "idx:$demo/images.gz?labels=$demo/labels.gz&norm=mnist&offset=$1&limit=$2"; }
expect() {  # FILE PATTERN: a line of the file matches
  grep -q -- "$2" "$1" || { echo "no line of $1 matches '$2':"; cat "$1"; exit 1; }
}

# A backend: quantize, train, deploy, verify.
chip="--plugin $work/add_backend/example_chip.so"
for kind in observers fake-quantizers platforms exporters runtimes ops; do
  "$quench" list $kind $chip > "$work/list"
  expect "$work/list" 'example.*\[example_chip.so\]'
done
"$work/add_backend/quantizer_test" "$work/add_backend/example_chip.so"
"$work/add_backend/make_model" "$work/add_backend/example_chip.so" "$work/example_net.onnx"
if "$quench" plan "$work/example_net.onnx" --platform tensorrt 2> "$work/errors" > /dev/null; then exit 1; fi
expect "$work/errors" ExampleMod
"$quench" quantize "$work/example_net.onnx" $chip --platform example_chip --calib "$(images 0 64)" --profile 0 \
  -o "$work/chip" > "$work/said"
expect "$work/chip/plan.yaml" 'input of example.ExampleMod'
expect "$work/chip/plan.yaml" 'weight of example.ExampleMod'
expect "$work/chip/plan.yaml" 'input of HardSwish'
"$quench" train "$work/example_net.onnx" $chip --platform example_chip --train "$(images 0 800)" --val "$(images 800 200)" \
  --epochs 2 --batch 32 --lr 0.02 -o "$work/trained" > "$work/said"
cat "$work/said"
"$quench" deploy "$work/trained/example_net.quench.onnx" $chip -o "$work/files" > /dev/null
cat "$work/files/example_net_chip.txt"
expect "$work/files/example_net_chip.txt" '^mod.weight [0-9.e-]* 0 -[0-9]* [0-9]* half_up$'
grep -q ExampleQuant "$work/files/example_net_quantizers.onnx"
"$quench" verify "$work/files" $chip --runtime example_chip --model "$work/trained/example_net.quench.onnx" \
  --data "$(images 800 200)" --details | tee "$work/said"
expect "$work/said" '^passed'
# What the chip computes when its table is wrong is found.
sed -i 's/^mod.weight [0-9.e-]* /mod.weight 0.02 /' "$work/files/example_net_chip.txt"
if "$quench" verify "$work/files" $chip --runtime example_chip --model "$work/trained/example_net.quench.onnx" \
  --data "$(images 800 200)" > "$work/said"; then echo "a wrong table passed"; exit 1; fi
expect "$work/said" "mod.weight"

# An algorithm: a config in mmrazor's layout.
"$quench" train "$demo/fashion_cnn.onnx" --config "$work/add_lsq/lsq_openvino.yaml" \
  --train "$(images 0 400)" --val "$(images 800 200)" -o "$work/lsq" > "$work/said"
cat "$work/said"
expect "$work/lsq/plan.yaml" 'fake_quant: my_lsq'
expect "$work/lsq/plan.yaml" 'observer: my_lsq'
expect "$work/lsq/record.json" 'my_lsq'
