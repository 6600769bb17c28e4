#ifndef SLUICE_TOOLS_CLI_RUN_VALUE_TEXT_H_
#define SLUICE_TOOLS_CLI_RUN_VALUE_TEXT_H_

#include <string>

#include "graph/value/tensor.h"
#include "nlohmann/json.hpp"

namespace sluice {

// The elements of `tensor` as nested lists, rows below each other: "[[1, 2],\n [3, 4]]". Floats in the fewest digits
// that give the same number back; strings quoted, with escapes for what a terminal must not get. Unless `full`, more
// than 60 elements are cut to the first and last 3 of each axis. REQUIRES: host memory.
std::string ValueText(const Tensor& tensor, bool full);

// All elements as nested JSON arrays. Infinities and NaN, which JSON lacks, as text ("inf", "-inf", "nan"); complex
// numbers as [real, imaginary]; strings as text, those that are not UTF-8 as {"b64": "..."}, as TensorFlow Serving
// does; resources and variants as text.
nlohmann::ordered_json ValueJson(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_VALUE_TEXT_H_
