#ifndef SLUICE_TOOLS_CLI_REPORT_EXAMPLE_VALUE_H_
#define SLUICE_TOOLS_CLI_REPORT_EXAMPLE_VALUE_H_

#include <string>

#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// A VALUE that a tensor of `dtype` and `shape` takes, as an example: "1x64xf32=random:7", "\"text\"". Unknown sizes
// are 1.
std::string ExampleFeedValue(DType dtype, const PartialShape& shape);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_EXAMPLE_VALUE_H_
