#ifndef SLUICE_TOOLS_CLI_RUN_VALUE_TEXT_H_
#define SLUICE_TOOLS_CLI_RUN_VALUE_TEXT_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/value/tensor.h"

namespace sluice {

// Takes a text part by part. An error ends the text, and its writer returns it.
using TextSink = absl::FunctionRef<absl::Status(absl::string_view part)>;

// Writes the elements of `tensor` as nested lists, rows below each other: "[[1, 2],\n [3, 4]]". Floats in the fewest
// digits that give the same number back; strings quoted, with escapes for what a terminal must not get. Unless `full`,
// more than 60 elements are cut to the first and last 3 of each axis, and to less of the outer ones where there would
// still be more than 1,000, and strings to their first 64 KiB. REQUIRES: host memory.
absl::Status WriteValueText(const Tensor& tensor, bool full, TextSink sink);

// Writes all elements as nested JSON arrays. Infinities and NaN, which JSON lacks, as text ("inf", "-inf", "nan");
// complex numbers as [real, imaginary]; strings as text, those that are not UTF-8 as {"b64": "..."}, as TensorFlow
// Serving does; resources and variants as text.
absl::Status WriteValueJson(const Tensor& tensor, TextSink sink);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_VALUE_TEXT_H_
