#!/usr/bin/env bash
# The loops compiled for newer processors must stay their own: an inline function that lands in one of these objects
# as a weak symbol may be the copy that the linker keeps for everyone, and end in an illegal instruction elsewhere.
# Each object defines its table and nothing else that others could see.   isa_symbols_test.sh OBJECT...
set -euo pipefail
failed=0
[ $# -gt 0 ] || { echo "no objects were given"; exit 1; }
for object in "$@"; do
  # Capitals (but U, undefined) and u, v, w, i are what the linker sees from outside.
  shared=$(nm -C "$object" | sed 's/^[0-9a-f ]*//' | grep -E '^[A-TV-Zuvwi] ' || true)
  others=$(grep -vE '^[DRB] quench::kSimd[A-Za-z0-9]+$' <<< "$shared" || true)
  if [ -n "$others" ]; then echo "$object defines symbols that others may take:"; echo "$others"; failed=1; fi
  if [ "$(grep -c 'kSimd' <<< "$shared")" != 1 ]; then echo "$object: no table of loops in it"; failed=1; fi
done
exit $failed
