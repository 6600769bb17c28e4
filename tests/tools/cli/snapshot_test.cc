// What people see, word for word. A change of wording shows here; look at it as a reader would.

#include <string>

#include "gtest/gtest.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"

namespace sluice {
namespace {

TEST(SnapshotTest, ShowOfASmallModel) {
  EXPECT_EQ(RunSluice({"show", "-"}, SampleModel()).out, R"(standard input  GraphDef, 470 B
  9 nodes, 6 data edges, 1 control edge
  2 constants: 28 B
  1 variable: 4 B
  written by graph version 1087, for readers from 0

Inputs (1)
  x  float32 [?,2]  Placeholder

Outputs (1)
  y  float32 [?,3]  Softmax

Targets (1)
  init  waits for 1

Variables (1)
  v  float32 []  4 B  ref

Ops (8)
  Const 2, Assign 1, MatMul 1, NoOp 1, Placeholder 1, Relu 1, Softmax 1, VariableV2 1

Name scopes (2)
  net/  3 nodes  24 B
  v/    1 node

Devices asked for (2)
  (any)          8 nodes
  /device:CPU:0  1 node
)");
}

TEST(SnapshotTest, ShowOfALoop) {
  EXPECT_EQ(RunSluice({"show", "-"}, LoopModel()).out, R"(standard input  GraphDef, 546 B
  11 nodes, 12 data edges, 0 control edges
  2 constants: 8 B
  written by graph version 1087, for readers from 0

Outputs (1)
  exit  float32 []  Exit

Loop frames (1)
  loop  9 nodes  1 loop variable, 1 constant, 4 parallel iterations

Ops (9)
  Const 2, Enter 2, Exit 1, Less 1, LoopCond 1, Merge 1, NextIteration 1, Square 1, Switch 1
)");
}

TEST(SnapshotTest, ShowOfASavedModelAndItsSignature) {
  EXPECT_EQ(RunSluice({"show", "-", "--depth", "0"}, SavedModelFile()).out, R"(standard input  SavedModel, 661 B
  9 nodes, 6 data edges, 1 control edge
  2 constants: 28 B
  1 variable: 4 B
  written by graph version 1087 (TensorFlow 2.19.1), for readers from 0
  tags serve; the file has 2 graphs: {serve}, {train}

Signatures (1)
  serving_default  tensorflow/serving/predict
    in   features  float32 ?  x:0
    out  scores    float32 ?  y:0
    run  sluice run - --feed features=1x2xfloat32=random:7

Inputs (1)
  x  float32 [?,2]  Placeholder

Outputs (1)
  y  float32 [?,3]  Softmax

Targets (1)
  init  waits for 1

Variables (1)
  v  float32 []  4 B  ref

Ops (8)
  Const 2, Assign 1, MatMul 1, NoOp 1, Placeholder 1, Relu 1, Softmax 1, VariableV2 1

Devices asked for (2)
  (any)          8 nodes
  /device:CPU:0  1 node
)");
}

TEST(SnapshotTest, CheckOfABrokenModel) {
  EXPECT_EQ(RunSluice({"check", "-"}, BrokenModel()).out, R"(standard input
  graph    3 errors
  kernels  not looked at: the graph is not sound

Errors
SLC2003 NOT_FOUND: Conv2d 'a': is not an op that is known here
  at    'standard input', node 0, bytes 2-13
  help  did you mean Conv2D or Conv3D?
  see   sluice explain SLC2003
SLC2003 NOT_FOUND: NoSuchOp 'b': is not an op that is known here
  at    'standard input', node 1, bytes 15-28
  help  an op of a plug-in needs --plugin FILE
  see   sluice explain SLC2003
SLC2102 INVALID_ARGUMENT: Relu 'c': input 0 'nowhere' names a node that is not there
  at    'standard input', node 2, bytes 30-57
  input 0 'nowhere'
  see   sluice explain SLC2102
)");
}

TEST(SnapshotTest, CheckOfAPipeline) {
  EXPECT_EQ(RunSluice({"check", "-"}, PipelineModel()).out, R"(standard input  GraphDef, 4 nodes
  graph    sound
  shapes   no contradiction
  kernels  3 ops without a kernel, 3 nodes

Ops without a kernel
  op                  nodes  first node
  IteratorGetNext         1  next        tf.data does not run here: feed 'next:0' (float32), 'next:1' (int64) instead
  IteratorV2              1  it          tf.data does not run here: feed what its IteratorGetNext gives; then this is not needed
  PyFunc                  1  py          there is no Python here: feed 'py:0' (float32), or export without it
  see   sluice explain SLC2504
)");
}

TEST(SnapshotTest, HelpOfShow) {
  EXPECT_EQ(RunSluice({"show", "--help"}).out,
            R"(what is in a model or checkpoint: nodes, ops, inputs, outputs, signatures, functions, loops, variables
Usage: sluice show [OPTIONS] MODEL

Positionals:
  MODEL (required)            GraphDef, MetaGraphDef or SavedModel, binary or text; a SavedModel directory; - for standard input; or a checkpoint: its prefix, one of its files, or its directory

Model:
  --tags TAGS                 which graph of a SavedModel, as a,b; without: the only one, or the one tagged serve
  --plugin FILE               also use the ops and kernels of this shared library, whose code runs in this program; once for each

Limits:
  --max-file-bytes N [2147483647]
                              refuse larger files before reading them
  --max-nodes N [16000000]    refuse graphs with more nodes
  --max-expanded-nodes N [1000000]
                              refuse graphs whose calls would add more nodes
  --max-tensor-bytes N [6442450944]
                              refuse larger constants and fed values
  --max-name-bytes N [4096]   refuse longer names
  --max-attrs N [256]         refuse nodes with more attrs
  --max-inputs N [65536]      refuse nodes with more inputs
  --max-nesting N [100], at most 100
                              refuse files whose messages nest deeper
  --max-call-depth N [64], at most 256
                              refuse functions that call one another deeper
  --max-frame-depth N [64], at most 10000
                              refuse loops that nest deeper
  --max-parallel-iterations N [1024], at most 65536
                              run no more iterations of a loop at once

Output:
  --json                      one JSON document with everything
  --depth N [2]               levels of name scopes to list
  --all                       list everything instead of the first 20 of each
  --values                    of a checkpoint, or of a SavedModel's variables: smallest, largest and mean finite value, how many are NaN or infinite, the first ones

Drawing:
  --svg FILE                  also draw the graph into an SVG file
  --html FILE                 also draw it into an HTML page: open and close scopes, search, details
  --boxes N [120, page 40]    about how many boxes are seen, for the page at first

General:
  -h,--help                   this text
  -q,--quiet                  no notes, warnings and progress on standard error

Example:
  sluice show detector.pb --html detector.html
)");
}

}  // namespace
}  // namespace sluice
