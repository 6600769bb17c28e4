#!/usr/bin/env bash
# What `sluice run` answers for two of the models beside this: an eigenvalue found by a loop, a digit read.
set -euo pipefail
models="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

sluice run "$models/power_iteration.pb" --feed 'matrix=[[2,1],[1,3]]' --feed tolerance=1e-6 --fetch eigenvalue,steps \
  --save eigenvalue=eigenvalue.npy --trace trace.json | tee answer.txt
grep -q '^steps  int32 \[\]  8$' answer.txt
grep -q '"cat":"MatMul"' trace.json

sluice run "$models/digits.pb" --feed image=2x64xf32=random:7 --deadline 1m --stats
