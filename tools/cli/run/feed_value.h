#ifndef SLUICE_TOOLS_CLI_RUN_FEED_VALUE_H_
#define SLUICE_TOOLS_CLI_RUN_FEED_VALUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// The forms of VALUE, for help texts.
inline constexpr absl::string_view kFeedValueForms =
    "VALUE is 1.5, true, \"text\", {\"b64\":\"/w==\"}, a list [1,2,3] or [[1,2],[3,4]], a fill 2x3=0 or 2x3=random:7 "
    "(the same numbers\n"
    "for the same seed: floats in [0,1), integers 0 to 99; 2x3xf32=0 states the dtype too), or a file: @x.npy,\n"
    "@all.npz:x, @x.pb (TensorProto). What --json prints of a result is a VALUE, too: its \"values\", or all of it.";

// The same for errors.
inline constexpr absl::string_view kFeedValueHint =
    "write 1.5, true, \"text\", a list [1,2,3] or [[1,2],[3,4]], a fill 2x3=0, 2x3xf32=0 or 2x3=random:7, or a file "
    "@x.npy, @all.npz:x, @x.pb";

// Reads `value` for a feed of `dtype`: numbers, lists and fills without a dtype get it, files and fills with one must
// have it (kFeedType). kValueSyntax for unreadable values, kLimitTensorBytes for fills beyond `limits`, and errors of
// files.
//
// Also accepts a result printed by `sluice run --json`: its "values", or the whole object, which states the shape
// ([0,3] or complex numbers) and the dtype. `shape`, the known shape of the feed, tells complex numbers from lists of
// two.
absl::StatusOr<Tensor> ReadFeedValue(absl::string_view value, DType dtype, const LoadLimits& limits = LoadLimits(),
                                     const PartialShape& shape = PartialShape());

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_FEED_VALUE_H_
