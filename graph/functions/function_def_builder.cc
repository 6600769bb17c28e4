#include "graph/functions/function_def_builder.h"

#include "graph/base/limits.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// One entry of a map field.
void WriteEntry(uint32_t field, absl::string_view key, absl::string_view value, WireWriter& writer) {
  const size_t mark = writer.BeginMessage(field);
  writer.Bytes(1, key);
  writer.Bytes(2, value);
  writer.EndMessage(mark);
}

}  // namespace

void FunctionDefBuilder::AddNode(absl::string_view name, absl::string_view op, const std::vector<std::string>& inputs,
                                 const Attrs& attrs, absl::string_view device) {
  WireWriter writer(&fields_);
  const size_t mark = writer.BeginMessage(3);
  writer.Bytes(1, name);
  writer.Bytes(2, op);
  for (const std::string& input : inputs) writer.Bytes(3, input);
  if (!device.empty()) writer.Bytes(4, device);
  for (const auto& attr : attrs) WriteEntry(5, attr.first, attr.second.bytes(), writer);
  writer.EndMessage(mark);
}

void FunctionDefBuilder::AddRet(absl::string_view output, absl::string_view value) {
  WireWriter writer(&fields_);
  WriteEntry(4, output, value, writer);
}

void FunctionDefBuilder::AddControlRet(absl::string_view name, absl::string_view node) {
  signature_.control_outputs.emplace_back(name);
  WireWriter writer(&fields_);
  WriteEntry(6, name, node, writer);
}

void FunctionDefBuilder::AddAttr(absl::string_view name, const AttrValue& value) {
  WireWriter writer(&fields_);
  WriteEntry(5, name, value.bytes(), writer);
}

std::string FunctionDefBuilder::Encode() const {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Bytes(1, EncodeOpDef(signature_));
  writer.Raw(fields_);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const FunctionDefinition>> FunctionDefBuilder::Build() const {
  auto bytes = std::make_shared<const std::string>(Encode());
  const absl::string_view view = *bytes;
  return ParseFunctionDef(std::move(bytes), view, /*base_offset=*/0, LoadLimits());
}

}  // namespace sluice
