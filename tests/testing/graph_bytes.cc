#include "tests/testing/graph_bytes.h"

#include "graph/wire/wire_writer.h"

namespace sluice::graph_bytes {

MessageBytes& MessageBytes::Int(uint32_t field, int64_t value) {
  WireWriter(&bytes_).Int(field, value);
  return *this;
}
MessageBytes& MessageBytes::Float(uint32_t field, float value) {
  WireWriter(&bytes_).Float(field, value);
  return *this;
}
MessageBytes& MessageBytes::Bytes(uint32_t field, absl::string_view value) {
  WireWriter(&bytes_).Bytes(field, value);
  return *this;
}
MessageBytes& MessageBytes::Packed(uint32_t field, const std::vector<int64_t>& values) {
  std::string packed;
  WireWriter writer(&packed);
  for (const int64_t value : values) writer.RawVarint(static_cast<uint64_t>(value));
  return Bytes(field, packed);
}
MessageBytes& MessageBytes::Entry(uint32_t field, absl::string_view key, const MessageBytes& value) {
  return Entry(field, key, value.str());
}
MessageBytes& MessageBytes::Entry(uint32_t field, absl::string_view key, absl::string_view value) {
  return Sub(field, MessageBytes().Bytes(1, key).Bytes(2, value));
}
MessageBytes& MessageBytes::Raw(absl::string_view bytes) {
  bytes_.append(bytes.data(), bytes.size());
  return *this;
}

MessageBytes TypeAttr(int64_t dtype) { return MessageBytes().Int(6, dtype); }
MessageBytes IntAttr(int64_t value) { return MessageBytes().Int(3, value); }
MessageBytes FloatAttr(float value) { return MessageBytes().Float(4, value); }
MessageBytes BoolAttr(bool value) { return MessageBytes().Int(5, value ? 1 : 0); }
MessageBytes StringAttr(absl::string_view value) { return MessageBytes().Bytes(2, value); }
MessageBytes ShapeAttr(const std::vector<int64_t>& dims) { return MessageBytes().Sub(7, ShapeBytes(dims)); }
MessageBytes TensorAttr(const MessageBytes& tensor) { return MessageBytes().Sub(8, tensor); }
MessageBytes PlaceholderAttr(absl::string_view name) { return MessageBytes().Bytes(9, name); }

MessageBytes FuncAttr(absl::string_view name, const AttrBytes& attrs) {
  MessageBytes func;
  func.Bytes(1, name);
  for (const auto& [key, value] : attrs) func.Entry(2, key, value);
  return MessageBytes().Sub(10, func);
}

MessageBytes TypeListAttr(const std::vector<int64_t>& dtypes) {
  return MessageBytes().Sub(1, MessageBytes().Packed(6, dtypes));
}
MessageBytes IntListAttr(const std::vector<int64_t>& values) {
  return MessageBytes().Sub(1, MessageBytes().Packed(3, values));
}
MessageBytes FloatListAttr(const std::vector<float>& values) {
  MessageBytes list;
  for (const float value : values) list.Float(4, value);
  return MessageBytes().Sub(1, list);
}
MessageBytes StringListAttr(const std::vector<std::string>& values) {
  MessageBytes list;
  for (const std::string& value : values) list.Bytes(2, value);
  return MessageBytes().Sub(1, list);
}
MessageBytes EmptyListAttr() { return MessageBytes().Bytes(1, ""); }

MessageBytes NestedFuncAttr(int levels) {
  MessageBytes attr = IntAttr(1);
  for (int i = 0; i < levels; ++i) attr = FuncAttr("f", {{"a", attr}});
  return attr;
}

MessageBytes ShapeBytes(const std::vector<int64_t>& dims) {
  MessageBytes shape;
  for (const int64_t dim : dims) shape.Sub(2, MessageBytes().Int(1, dim));
  return shape;
}

MessageBytes TensorBytes(int64_t dtype, const std::vector<int64_t>& dims) {
  return MessageBytes().Int(1, dtype).Sub(2, ShapeBytes(dims));
}

MessageBytes NodeDefBytes(absl::string_view name, absl::string_view op, const std::vector<std::string>& inputs,
                          const AttrBytes& attrs, absl::string_view device) {
  MessageBytes node;
  node.Bytes(1, name).Bytes(2, op);
  for (const std::string& input : inputs) node.Bytes(3, input);
  if (!device.empty()) node.Bytes(4, device);
  for (const auto& [key, value] : attrs) node.Entry(5, key, value);
  return node;
}

MessageBytes PlaceholderNode(absl::string_view name, int64_t dtype) {
  return NodeDefBytes(name, "Placeholder", {}, {{"dtype", TypeAttr(dtype)}});
}
MessageBytes ConstNode(absl::string_view name, int64_t dtype, const MessageBytes& tensor) {
  return NodeDefBytes(name, "Const", {}, {{"dtype", TypeAttr(dtype)}, {"value", TensorAttr(tensor)}});
}
MessageBytes ScalarNode(absl::string_view name, float value) {
  return ConstNode(name, kFloat, TensorBytes(kFloat, {}).Float(5, value));
}
MessageBytes UnaryNode(absl::string_view name, absl::string_view op, const std::vector<std::string>& inputs,
                       int64_t dtype) {
  return NodeDefBytes(name, op, inputs, {{"T", TypeAttr(dtype)}});
}
MessageBytes EnterNode(absl::string_view name, absl::string_view input, absl::string_view frame,
                       int64_t parallel_iterations, int64_t dtype) {
  return NodeDefBytes(name, "Enter", {std::string(input)},
                      {{"T", TypeAttr(dtype)},
                       {"frame_name", StringAttr(frame)},
                       {"parallel_iterations", IntAttr(parallel_iterations)}});
}

MessageBytes FunctionBytes::Signature() const {
  MessageBytes op;
  op.Bytes(1, name);
  for (const auto& [arg, dtype] : args) op.Sub(2, MessageBytes().Bytes(1, arg).Int(3, dtype));
  for (const auto& [result, dtype] : results) op.Sub(3, MessageBytes().Bytes(1, result).Int(3, dtype));
  for (const auto& [output, node] : control_ret) op.Bytes(20, output);
  return op;
}

MessageBytes FunctionBytes::Message() const {
  MessageBytes function;
  function.Sub(1, Signature());
  for (const MessageBytes& node : nodes) function.Sub(3, node);
  for (const auto& [result, value] : ret) function.Entry(4, result, value);
  for (const auto& [output, node] : control_ret) function.Entry(6, output, node);
  return function;
}

MessageBytes LibraryBytes(const std::vector<MessageBytes>& functions) {
  MessageBytes library;
  for (const MessageBytes& function : functions) library.Sub(1, function);
  return library;
}

std::string GraphDefBytes(const std::vector<MessageBytes>& nodes, const MessageBytes& library, int64_t producer) {
  MessageBytes graph;
  for (const MessageBytes& node : nodes) graph.Sub(1, node);
  if (!library.str().empty()) graph.Sub(2, library);
  graph.Sub(4, MessageBytes().Int(1, producer));
  return graph.str();
}

}  // namespace sluice::graph_bytes
