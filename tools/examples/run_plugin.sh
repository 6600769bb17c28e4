#!/usr/bin/env bash
# Builds the plug-in beside this as its author would, with the compiler alone, and runs a graph with its op.
set -euo pipefail
root="${SLUICE_ROOT:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../..}"

g++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -I"$root" "$root/tools/examples/plugin_op.cc" -o libplugin_op.so

cat > graph.pbtxt <<'GRAPH'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Swish" input: "x" attr { key: "slope" value { f: 2 } } }
GRAPH
sluice check graph.pbtxt --plugin libplugin_op.so
sluice ops Swish --plugin libplugin_op.so
sluice run graph.pbtxt --plugin libplugin_op.so --feed "x=[-1,0,1]" --fetch y | tee answer.txt
grep -q '^y  float32 \[3\]' answer.txt
sluice grad graph.pbtxt --plugin libplugin_op.so --y y --x x -o with_gradient.pb
sluice run with_gradient.pb --plugin libplugin_op.so --feed "x=[-1,0,1]" --fetch gradients/0 | tee gradient.txt
grep -q '^gradients/0  float32 \[3\]' gradient.txt
