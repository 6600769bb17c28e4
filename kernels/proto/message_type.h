#ifndef SLUICE_KERNELS_PROTO_MESSAGE_TYPE_H_
#define SLUICE_KERNELS_PROTO_MESSAGE_TYPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice {

// As descriptors number them.
enum class FieldType : uint8_t {
  kDouble = 1,
  kFloat,
  kInt64,
  kUInt64,
  kInt32,
  kFixed64,
  kFixed32,
  kBool,
  kString,
  kGroup,
  kMessage,
  kBytes,
  kUInt32,
  kEnum,
  kSFixed32,
  kSFixed64,
  kSInt32,
  kSInt64
};

// A field of a message type.
struct MessageField {
  std::string name;
  std::string type_name;  // "int32".
  FieldType type = FieldType::kBytes;
  int number = 0;
  bool is_repeated = false;
  bool is_packed = false;
  // The default value: the bits of a number (integers as 64 bits), or text.
  uint64_t default_bits = 0;
  std::string default_text;
};

// A message type that a graph describes by itself, for ops that read and write messages of any type; without protobuf's
// headers for those who use it. Owns the descriptors. Immutable; thread-safe.
class MessageType {
 public:
  // Type `name` among the descriptors that `source` states: "bytes://" and a FileDescriptorSet, or "local://", which
  // has tensorflow.Example, tensorflow.SequenceExample and what they consist of. kOpAttr for malformed descriptors, and
  // for a type or a field that they lack.
  static absl::StatusOr<std::unique_ptr<MessageType>> Make(const std::string& source, const std::string& name,
                                                           absl::Span<const std::string> field_names);
  ~MessageType();

  // In the order of the names.
  const std::vector<MessageField>& fields() const { return fields_; }
  // The message as protobuf writes it after it has read it, from its bytes or as text. False where it cannot be read.
  // Parsers go 100 levels deep at most.
  bool Rewrite(absl::string_view message, bool is_text, std::string* bytes) const;

 private:
  struct Descriptors;
  MessageType();
  absl::Status AddField(const std::string& name);

  std::unique_ptr<Descriptors> descriptors_;
  std::vector<MessageField> fields_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_PROTO_MESSAGE_TYPE_H_
