#!/usr/bin/env bash
# The program of every python_test: runs a script without leaving byte code in the source tree.
set -euo pipefail
exec /usr/bin/python3 -B "$@"
