#include "graph/wire/packed_fields.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status PackedFieldError(const WireReader& field, absl::string_view what) {
  return Error(ErrorCode::kFileWire)
      .AtByte(static_cast<int64_t>(field.offset()))
      .Text(absl::StrCat("field ", field.field(), " at byte ", field.offset(), " holds packed ", what,
                         " that end in the middle of one"));
}

}  // namespace sluice
