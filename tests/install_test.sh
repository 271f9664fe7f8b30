#!/usr/bin/env bash
# Installs into a temporary prefix and moves that. Then, where the system lets us with the build tree and LibTorch's
# own folder out of sight: builds examples/out_of_tree against nothing but the prefix, runs it, and takes a model
# through the installed program up to `verify`.   install_test.sh SOURCE BUILD MODEL
set -euo pipefail
source=$1 build=$2 model=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved/here
quench=$prefix/bin/quench
fail() { echo "install_test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" > /dev/null
mkdir "$work/moved"
mv "$work/prefix" "$prefix"

# With QUENCH_INSTALL_TORCH=OFF (the default with CUDA) LibTorch stays where it is, and must be seen.
hides=false
if [ -d "$prefix/lib/quench/torch" ]; then
  outside=$(find "$prefix" \( -name '*.so*' -o -path '*/bin/quench' \) -type f -exec readelf -d {} + |
    sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p' | tr ':' '\n' | grep -v '^\$ORIGIN' || true)
  [ -z "$outside" ] || fail "a search path leads out of the prefix: $outside"
  ! grep -rlF -e "$source" -e "$build" -e "$work/prefix" "$prefix/lib/cmake" "$prefix/share" || fail "the files above name the tree"
  unshare -m true 2> /dev/null && hides=true
fi
# Runs a command that sees neither the build tree nor .deps.
alone() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  local hide='for folder in "$1" "$2/.deps"; do [ ! -d "$folder" ] || mount -t tmpfs none "$folder"; done; shift 2; exec "$@"'
  if $hides; then unshare -m bash -c "$hide" bash "$build" "$source" "$@"; else "$@"; fi
}
! $hides || ! alone test -e "$build/CMakeCache.txt" || fail "the build tree is still in sight"

alone cmake -S "$source/examples/out_of_tree" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" > /dev/null
alone cmake --build "$work/build"
said=$(alone "$work/build/out_of_tree" "$model" "$work/out.onnx")
echo "$said"
grep -q '^probabilities of shape .*, sum 1$' <<< "$said"
data="idx:$(dirname "$model")/images.gz?norm=mnist&limit=8"
alone "$work/build/quantize" "$model" "$data" "$work/files_of_library" | tee "$work/made"
grep -q '^[1-9][0-9]* quantizers, 2 files$' "$work/made"
test -s "$work/files_of_library/model_qdq.onnx"
alone "$work/build/zoo" | tee "$work/zoo"
grep -q 'alike: 1$' "$work/zoo"
alone "$quench" inspect "$work/out.onnx" > "$work/table"
grep -q '^probabilities *Softmax' "$work/table"
tail -4 "$work/table"

# The manual page and the completions are those of the program.
alone "$quench" help --man | cmp - "$prefix/share/man/man1/quench.1"
alone "$quench" completion bash | cmp - "$prefix/share/bash-completion/completions/quench"
alone "$quench" completion zsh | cmp - "$prefix/share/zsh/site-functions/_quench"
grep -q 'Apache License' "$prefix/share/doc/quench/LICENSE"

alone "$quench" quantize "$model" --platform onnxruntime --calib "$data" -o "$work/int8" --profile 0 --no-deploy > /dev/null
alone "$quench" deploy "$work"/int8/*.quench.onnx -o "$work/files" > /dev/null
# Without a runtime it names the script that gets one, and that script is there.
if QUENCH_PYTHON=/no/such/python alone "$quench" verify "$work/files" --data "$data" 2> "$work/errors"; then
  fail "verify passed without a runtime"
fi
grep -q "cannot start '/no/such/python'" "$work/errors"
setup=$(sed -n "s/.*'\(.*\) onnxruntime' creates an environment.*/\1/p" "$work/errors")
[ "$setup" = "$prefix/share/quench/test-venv" ] || fail "the setup script is '$setup'"
[ "$(readlink -f "$prefix/bin/quench-runtimes")" = "$setup" ] || fail "quench-runtimes is not the setup script"
help=$("$prefix/bin/quench-runtimes" --help)
for part in 'usage: quench-runtimes \[RUNTIME\]' onnxruntime-web QUENCH_VENV 'quench verify FOLDER'; do
  grep -q -- "$part" <<< "$help" || fail "quench-runtimes --help does not say $part"
done
if said=$("$prefix/bin/quench-runtimes" openvina 2>&1); then fail "quench-runtimes takes an unknown runtime"; fi
grep -q "unknown runtime 'openvina'; known: onnxruntime, openvino" <<< "$said" || fail "quench-runtimes says: $said"
# With the environment that it finds by itself, or that the variable names, verify passes.
if python=$("$source/tools/test-venv"); then
  export QUENCH_VENV=${python%/bin/python}
  [ "$("$prefix/bin/quench-runtimes")" = "$python" ] || fail "quench-runtimes does not take QUENCH_VENV"
  alone "$quench" verify "$work/files" --data "$data" | tail -3
  unset QUENCH_VENV
  mkdir -p "$work/home/quench"
  ln -s "${python%/bin/python}" "$work/home/quench/venv"
  XDG_DATA_HOME=$work/home alone "$quench" verify "$work/files" --data "$data" > /dev/null
fi
