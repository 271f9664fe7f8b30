#!/usr/bin/env bash
# Builds the wheel, installs it into an environment that has torch, and runs tests/python there. Skipped if that environment
# cannot be made.   python_test.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
"$source/tools/python-venv" > /dev/null || exit 77
python=$("$source/tools/build-wheel" --build "$build" --no-build --install)
cd "$source/tests/python"
exec env -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 "$python" -W ignore -m unittest discover --pattern '*_test.py'
