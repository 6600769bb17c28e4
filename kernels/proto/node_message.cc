#include "kernels/proto/node_message.h"

#include <string>
#include <vector>

#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<MessageType>> MessageTypeOf(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string source, construction.Get<std::string>("descriptor_source"));
  SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("message_type"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> fields,
                          construction.Get<std::vector<std::string>>("field_names"));
  return MessageType::Make(source, name, fields);
}

bool CanHold(DType dtype, const MessageField& field) {
  const auto is = [dtype](std::initializer_list<DType> types) {
    for (const DType type : types) {
      if (type == dtype) return true;
    }
    return false;
  };
  switch (field.type) {
    case FieldType::kDouble:
      return is({DType::kDouble});
    case FieldType::kFloat:
      return is({DType::kFloat, DType::kDouble});
    case FieldType::kInt64:
    case FieldType::kSFixed64:
    case FieldType::kSInt64:
      return is({DType::kInt64});
    case FieldType::kUInt64:
    case FieldType::kFixed64:
      return is({DType::kUInt64});
    case FieldType::kInt32:
    case FieldType::kSFixed32:
    case FieldType::kSInt32:
      return is({DType::kInt32, DType::kInt64});
    case FieldType::kUInt32:
    case FieldType::kFixed32:
      return is({DType::kUInt32, DType::kUInt64});
    case FieldType::kBool:
      return is({DType::kBool});
    case FieldType::kEnum:
      return is({DType::kInt32});
    default:
      return is({DType::kString});
  }
}

}  // namespace sluice
