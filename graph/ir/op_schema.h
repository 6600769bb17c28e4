#ifndef SLUICE_GRAPH_IR_OP_SCHEMA_H_
#define SLUICE_GRAPH_IR_OP_SCHEMA_H_

// The inputs, outputs and attrs of an op: the facts of an OpDef message, without protobuf.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_class.h"
#include "graph/ir/op_traits.h"
#include "graph/value/dtype.h"

namespace sluice {

// The type of an attr's value. The list types are the element's number plus 16.
enum class AttrType : uint8_t {
  kInvalid = 0,
  kString = 1,
  kInt = 2,
  kFloat = 3,
  kBool = 4,
  kType = 5,
  kShape = 6,
  kTensor = 7,
  kFunc = 8,
  kAny = 9,  // Never checked.
  kListString = 17,
  kListInt = 18,
  kListFloat = 19,
  kListBool = 20,
  kListType = 21,
  kListShape = 22,
  kListTensor = 23,
  kListFunc = 24,
  kListAny = 25,
};

constexpr bool IsListType(AttrType type) { return static_cast<uint8_t>(type) > 16; }
// kInt for kInt and for kListInt.
constexpr AttrType ElementType(AttrType type) {
  return IsListType(type) ? static_cast<AttrType>(static_cast<uint8_t>(type) - 16) : type;
}
// As OpDefs write it: "int", "list(int)". "invalid" for kInvalid.
std::string AttrTypeName(AttrType type);
// The reverse; kInvalid for any other text.
AttrType ParseAttrType(absl::string_view text);

// One argument. Its type comes from exactly one of `dtype`, `type_attr` and `type_list_attr`; with `number_attr` it
// stands for that many tensors of the type.
struct ArgSpec {
  std::string name;
  DType dtype = DType::kInvalid;
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;

  // Whether it may be any number of tensors.
  bool is_list() const { return !number_attr.empty() || !type_list_attr.empty(); }
};

struct AttrSpec {
  std::string name;
  AttrType type = AttrType::kInvalid;
  bool has_default = false;
  std::string default_value;  // The bytes of an AttrValue message. See Note [Encoded attrs] in attr.h.
  bool has_minimum = false;
  int64_t minimum = 0;  // Of an int; for lists, of their length.
  // Allowed values (of each element); empty: no constraint.
  std::vector<DType> allowed_types;
  std::vector<std::string> allowed_strings;
};

// One op. A value type, immutable wherever it is shared.
struct OpSchema {
  std::string name;
  std::vector<ArgSpec> inputs;
  std::vector<ArgSpec> outputs;
  std::vector<AttrSpec> attrs;
  std::vector<std::string> control_outputs;  // Of functions only.
  // By name, set where the schema is registered (OpRegistry). kOther for functions.
  OpClass op_class = OpClass::kOther;
  OpTraits traits;
  bool is_stateful = false;
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  bool is_distributed_communication = false;
  int32_t deprecated_at = 0;  // Graphs produced at this version or later must not hold it. 0: not deprecated.
  std::string deprecation_text;

  // Null if there is none. Linear: ops have few attrs.
  const AttrSpec* FindAttr(absl::string_view attr_name) const;
};

// kOpSchema for inconsistent parts: names missing or used twice, an argument without a type or with more than one, an
// attr used as type or number that is not declared as such, a default of another kind than its attr.
absl::Status ValidateOpSchema(const OpSchema& schema);

// Reads the OpDef message in `bytes` and validates it. Descriptions and unknown fields are left out.
// `base_offset` is where `bytes` starts in the file. kFileWire, kFileTruncated or kOpSchema otherwise.
absl::StatusOr<OpSchema> ParseOpDef(absl::string_view bytes, size_t base_offset = 0);

// The OpDef message of `schema`: ParseOpDef gives it back.
std::string EncodeOpDef(const OpSchema& schema);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_OP_SCHEMA_H_
