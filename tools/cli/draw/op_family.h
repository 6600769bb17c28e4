#ifndef SLUICE_TOOLS_CLI_DRAW_OP_FAMILY_H_
#define SLUICE_TOOLS_CLI_DRAW_OP_FAMILY_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// The kind of an op, for the colour of its box.
enum class OpFamily : uint8_t { kInput, kConstant, kState, kControl, kCall, kMath, kNetwork, kArray, kOther };
inline constexpr int kNumOpFamilies = 9;

// A guess from the op's name: known prefixes and words. Fast, never fails.
OpFamily OpFamilyOf(absl::string_view op);

// "input", "constant", "state", ... for legends, and the colour ("#4c78a8").
absl::string_view OpFamilyName(OpFamily family);
absl::string_view OpFamilyColor(OpFamily family);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_OP_FAMILY_H_
