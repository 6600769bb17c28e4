#ifndef SLUICE_TOOLS_CLI_RUN_VALUE_LITERAL_H_
#define SLUICE_TOOLS_CLI_RUN_VALUE_LITERAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/tensor.h"

namespace sluice {

// One element as it was written.
struct LiteralElement {
  std::string text;  // Without quotes and escapes.
  bool is_quoted = false;
  bool is_bytes = false;  // It was {"b64": "..."}; `text` has the bytes.
};

// A value as people write it: 1.5, true, "text", [1, 2, 3], [[1, 2], [3, 4]]. Elements in row-major order.
struct ValueLiteral {
  std::vector<int64_t> dims;
  std::vector<LiteralElement> elements;
};

// Reads nested lists of numbers, words and quoted text ("a\n", with C's escapes or JSON's), and bytes as JSON has them
// ({"b64": "..."}). kValueSyntax says at which byte and
// what is wrong: open brackets, rows of different lengths, something after the end.
absl::StatusOr<ValueLiteral> ParseValueLiteral(absl::string_view text);

// Turns innermost lists of two into complex numbers, as JSON has them: [[1,2],[0,-1]] becomes [1+2j,0-1j]. Returns
// false, changing nothing, if the innermost lists are not of two.
bool JoinComplexPairs(ValueLiteral* literal);

// The literal as a tensor of `dtype`: integers in range, floats with inf and nan, complex numbers as 1+2j, booleans as
// true and false or 1 and 0, text quoted or not. kValueSyntax names the element.
absl::StatusOr<Tensor> LiteralToTensor(const ValueLiteral& literal, DType dtype);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_VALUE_LITERAL_H_
