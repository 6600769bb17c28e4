#ifndef SLUICE_TESTS_TOOLS_CLI_SAMPLE_MODELS_H_
#define SLUICE_TESTS_TOOLS_CLI_SAMPLE_MODELS_H_

#include <string>

namespace sluice {

// x [?,2] -> net/hidden (MatMul with a constant) -> net/act (Relu) -> y (Softmax); `init` initialises a variable.
std::string SampleModel();

// A while loop over one variable, as TensorFlow 1 wrote it: frame "loop".
std::string LoopModel();

// One call of a function "Twice" (float32 -> float32).
std::string FunctionModel();

// Input from a tf.data iterator and from a Python function.
std::string PipelineModel();

// Two nodes with unknown ops, one with an input that is not there.
std::string BrokenModel();

// SavedModel with two graphs: {serve}, which is SampleModel with a signature, and {train}.
std::string SavedModelFile();

}  // namespace sluice

#endif  // SLUICE_TESTS_TOOLS_CLI_SAMPLE_MODELS_H_
