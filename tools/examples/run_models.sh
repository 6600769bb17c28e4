#!/usr/bin/env bash
# What `sluice run` answers for the models beside this: an eigenvalue found by a loop, digits read, a line found by
# training that is interrupted and goes on.
set -euo pipefail
models="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

sluice run "$models/power_iteration.pb" --feed 'matrix=[[2,1],[1,3]]' --feed tolerance=1e-6 --fetch eigenvalue,steps \
  --save eigenvalue=eigenvalue.npy --trace trace.json | tee answer.txt
grep -q '^steps  int32 \[\]  8$' answer.txt
grep -q '"cat":"MatMul"' trace.json

sluice run "$models/digits.pb" --feed image=2x64xf32=random:7 --deadline 1m --stats

# A SavedModel with trained variables, by its signature, on a picture in a NumPy file.
sluice run "$models/digit_reader" --signature serving_default --feed "image=@$models/seven.npy" | tee read.txt
grep -q '^digit  int32 \[1\]  \[7\]$' read.txt

# A training graph: 100 steps, a checkpoint, 100 more from there.
points=(--feed 'x=[0,1,2,3]' --feed 'wanted=[1,3,5,7]' --target train --steps 100)
sluice run "$models/line.meta" --init init "${points[@]}" --checkpoint line
sluice run "$models/line.meta" --restore line "${points[@]}" --checkpoint line
sluice run "$models/line.meta" --restore line --feed 'x=[10]' --fetch y | tee line.txt
grep -qE '^y  float32 \[1\]  \[(20\.99|21\.00)' line.txt

# An untrained network, trained on drawn digits; interrupted after 100 steps, then resumed.
digits=("$models/training/digit_trainer.pb" "$models/training/drawn_digits.npz" --loss loss --metric accuracy)
digits+=(--optimizer adam --lr 0.005 --validate 0.1 -o digits)
sluice train "${digits[@]}" --steps 100
sluice train "${digits[@]}" --steps 276 --resume --export digit_model --output answer | tee trained.txt
tail -n 1 trained.txt | awk '{ exit !($4 > 0.95 && $6 > 0.9) }'
sluice run digit_model --feed "input=@$models/training/drawn_digits.npz:input" --fetch answer | tee answers.txt
grep -qF 'answer  int32 [800]  [3, 1, 6, ' answers.txt
