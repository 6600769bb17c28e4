#ifndef SLUICE_GRAPH_IR_ATTR_H_
#define SLUICE_GRAPH_IR_ATTR_H_

// Attr values are kept as the bytes of their AttrValue message (Note [Encoded attrs]).
//
// Note [Encoded attrs]
// An attr of a graph is a slice of the file it came from (or of the graph's arena) and is decoded when it is read.
// A million-node file so costs no attr objects; exporting writes the slice back with whatever it held, unknown fields
// included; defaults of the op table are slices of the same kind. Reading costs a few nanoseconds: kernels read once,
// when they are made.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

enum class AttrKind : uint8_t {
  kNone,
  kList,
  kString,
  kInt,
  kFloat,
  kBool,
  kType,
  kShape,
  kTensor,
  kPlaceholder,
  kFunc
};

// "int", "list", "none", ... for messages.
absl::string_view AttrKindName(AttrKind kind);

struct FuncView;

// A read-only view of one encoded AttrValue. Copy freely; the bytes must outlive it.
// All readers return INVALID_ARGUMENT (kAttrKind; the caller adds node and attr) when the value is of another kind.
class AttrView {
 public:
  AttrView() = default;
  explicit AttrView(absl::string_view bytes) : bytes_(bytes) {}

  absl::string_view bytes() const { return bytes_; }
  // The last value field set wins, as in protobuf. kNone for an empty or damaged message.
  AttrKind kind() const;

  absl::StatusOr<absl::string_view> AsString() const;
  absl::StatusOr<int64_t> AsInt() const;
  absl::StatusOr<float> AsFloat() const;
  absl::StatusOr<bool> AsBool() const;
  absl::StatusOr<DType> AsType() const;          // kInvalid for a number that is not a dtype.
  absl::StatusOr<int64_t> AsTypeNumber() const;  // The number itself.
  absl::StatusOr<PartialShape> AsShape() const;
  absl::StatusOr<absl::string_view> AsTensorBytes() const;  // An encoded TensorProto; see tensor_proto.h.
  absl::StatusOr<absl::string_view> AsPlaceholder() const;
  absl::StatusOr<FuncView> AsFunc() const;

  // An attr without a list where an empty list was written reads as an empty list.
  absl::StatusOr<std::vector<absl::string_view>> AsStringList() const;
  absl::StatusOr<std::vector<int64_t>> AsIntList() const;
  absl::StatusOr<std::vector<float>> AsFloatList() const;
  absl::StatusOr<std::vector<bool>> AsBoolList() const;
  absl::StatusOr<std::vector<DType>> AsTypeList() const;
  absl::StatusOr<std::vector<PartialShape>> AsShapeList() const;
  absl::StatusOr<std::vector<absl::string_view>> AsTensorBytesList() const;
  absl::StatusOr<std::vector<FuncView>> AsFuncList() const;
  // The functions that it names: a func, or a list of them. None for other kinds, and for what cannot be read.
  std::vector<FuncView> Functions() const;
  // Calls `visit` for each of them, and for those that attrs bound for them name, at any depth. Not recursive.
  void ForEachFunction(absl::FunctionRef<void(absl::string_view name)> visit) const;

  // Whether messages nest at most `limit` deep (functions in attrs in functions, tensors in variants). Not recursive.
  bool NestsWithin(int limit) const;

  // For people: "float32", "[1,2]", "\"SAME\"", "float32 [2,3] {…}", "f[T=float32]".
  std::string ToString() const;
  // Whether both hold the same value, whatever the encoding.
  static bool Equal(AttrView a, AttrView b);

 private:
  absl::string_view bytes_;
};

// The name of an attr and its value.
struct NamedAttr {
  absl::string_view name;
  AttrView value;
};

// A function named by an attr, with the attrs bound for it. Views into the attr's bytes.
struct FuncView {
  absl::string_view name;
  std::vector<NamedAttr> attrs;
};

// An attr value that owns its bytes; made from C++ values. For builders and rewrites.
class AttrValue {
 public:
  AttrValue() = default;
  AttrValue(int value);                              // NOLINT(google-explicit-constructor): all of these.
  AttrValue(int64_t value);                          // NOLINT
  AttrValue(float value);                            // NOLINT
  AttrValue(bool value);                             // NOLINT
  AttrValue(DType value);                            // NOLINT
  AttrValue(const char* value);                      // NOLINT
  AttrValue(absl::string_view value);                // NOLINT
  AttrValue(const std::string& value);               // NOLINT
  AttrValue(const Shape& value);                     // NOLINT
  AttrValue(const PartialShape& value);              // NOLINT
  AttrValue(const Tensor& value);                    // NOLINT. No variants.
  AttrValue(absl::Span<const int64_t> list);         // NOLINT
  AttrValue(const std::vector<int64_t>& list);       // NOLINT
  AttrValue(const std::vector<float>& list);         // NOLINT
  AttrValue(const std::vector<bool>& list);          // NOLINT
  AttrValue(absl::Span<const DType> list);           // NOLINT
  AttrValue(const std::vector<DType>& list);         // NOLINT
  AttrValue(const std::vector<std::string>& list);   // NOLINT
  AttrValue(const std::vector<PartialShape>& list);  // NOLINT
  static AttrValue EmptyList();
  static AttrValue Func(absl::string_view name, absl::Span<const std::pair<std::string, AttrValue>> attrs = {});
  static AttrValue Placeholder(absl::string_view name);
  // Takes encoded bytes as they are.
  static AttrValue FromBytes(absl::string_view bytes);

  AttrView view() const { return AttrView(bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_ATTR_H_
