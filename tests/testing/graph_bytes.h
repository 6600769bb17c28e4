#ifndef SLUICE_TESTS_TESTING_GRAPH_BYTES_H_
#define SLUICE_TESTS_TESTING_GRAPH_BYTES_H_

// GraphDefs written by hand, byte for byte: also such as no exporter would write.
//
//   std::string graph = GraphDefBytes({PlaceholderNode("x"), NodeDefBytes("out", "Relu", {"x"}, {{"T",
//   TypeAttr(1)}})});
//
// Field numbers are those of reference 6.5. Nothing is checked; the order of fields is the order of calls.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::graph_bytes {

// A protobuf message under construction. A value type.
class MessageBytes {
 public:
  MessageBytes& Int(uint32_t field, int64_t value);
  MessageBytes& Float(uint32_t field, float value);
  MessageBytes& Bytes(uint32_t field, absl::string_view value);
  MessageBytes& Sub(uint32_t field, const MessageBytes& message) { return Bytes(field, message.str()); }
  // One packed field of varints.
  MessageBytes& Packed(uint32_t field, const std::vector<int64_t>& values);
  // A map entry {1: key, 2: value}.
  MessageBytes& Entry(uint32_t field, absl::string_view key, const MessageBytes& value);
  MessageBytes& Entry(uint32_t field, absl::string_view key, absl::string_view value);
  // Bytes as they are.
  MessageBytes& Raw(absl::string_view bytes);

  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

using AttrBytes = std::vector<std::pair<std::string, MessageBytes>>;

// Numbers of the DataTypes that tests need most.
inline constexpr int64_t kFloat = 1, kInt32 = 3, kString = 7, kInt64 = 9, kBool = 10, kHalf = 19, kResource = 20;
inline constexpr int64_t kVariant = 21, kFloatRef = 101;

// AttrValue messages.
MessageBytes TypeAttr(int64_t dtype);
MessageBytes IntAttr(int64_t value);
MessageBytes FloatAttr(float value);
MessageBytes BoolAttr(bool value);
MessageBytes StringAttr(absl::string_view value);
MessageBytes ShapeAttr(const std::vector<int64_t>& dims);
MessageBytes TensorAttr(const MessageBytes& tensor);
MessageBytes PlaceholderAttr(absl::string_view name);
MessageBytes FuncAttr(absl::string_view name, const AttrBytes& attrs = {});
MessageBytes TypeListAttr(const std::vector<int64_t>& dtypes);
MessageBytes IntListAttr(const std::vector<int64_t>& values);
MessageBytes FloatListAttr(const std::vector<float>& values);
MessageBytes StringListAttr(const std::vector<std::string>& values);
MessageBytes EmptyListAttr();
// `levels` functions, each in an attr of the one before.
MessageBytes NestedFuncAttr(int levels);

// TensorShapeProto and TensorProto (dtype and shape; add the values to the result).
MessageBytes ShapeBytes(const std::vector<int64_t>& dims);
MessageBytes TensorBytes(int64_t dtype, const std::vector<int64_t>& dims);

// NodeDef messages.
MessageBytes NodeDefBytes(absl::string_view name, absl::string_view op, const std::vector<std::string>& inputs = {},
                          const AttrBytes& attrs = {}, absl::string_view device = "");
MessageBytes PlaceholderNode(absl::string_view name, int64_t dtype = kFloat);
// A Const of `tensor` whose attr dtype is `dtype`.
MessageBytes ConstNode(absl::string_view name, int64_t dtype, const MessageBytes& tensor);
// A scalar float Const.
MessageBytes ScalarNode(absl::string_view name, float value = 1);
// A node whose only attr is T = dtype.
MessageBytes UnaryNode(absl::string_view name, absl::string_view op, const std::vector<std::string>& inputs,
                       int64_t dtype = kFloat);
// One node of a while loop in its low-level form, entering frame `frame`.
MessageBytes EnterNode(absl::string_view name, absl::string_view input, absl::string_view frame,
                       int64_t parallel_iterations = 10, int64_t dtype = kFloat);

// A function: arguments and results as {name, dtype}, body, and where the results come from.
struct FunctionBytes {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> args, results;
  std::vector<MessageBytes> nodes;
  std::vector<std::pair<std::string, std::string>> ret;
  std::vector<std::pair<std::string, std::string>> control_ret;

  MessageBytes Signature() const;  // OpDef
  MessageBytes Message() const;    // FunctionDef
};

// FunctionDefLibrary of the functions.
MessageBytes LibraryBytes(const std::vector<MessageBytes>& functions);

// A GraphDef: nodes, then library (left out when empty), then versions {producer}.
std::string GraphDefBytes(const std::vector<MessageBytes>& nodes, const MessageBytes& library = {},
                          int64_t producer = 1087);

}  // namespace sluice::graph_bytes

#endif  // SLUICE_TESTS_TESTING_GRAPH_BYTES_H_
