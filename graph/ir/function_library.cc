#include "graph/ir/function_library.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/ir/name_table.h"
#include "graph/ir/registered_gradients.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

using TextPair = std::pair<absl::string_view, absl::string_view>;

// Fields of FunctionDef and of the entries of its maps.
constexpr uint32_t kSignature = WireTag(1, WireType::kBytes);
constexpr uint32_t kOldBody = WireTag(2, WireType::kBytes);
constexpr uint32_t kNodeDef = WireTag(3, WireType::kBytes);
constexpr uint32_t kRet = WireTag(4, WireType::kBytes);
constexpr uint32_t kAttr = WireTag(5, WireType::kBytes);
constexpr uint32_t kControlRet = WireTag(6, WireType::kBytes);
constexpr uint32_t kMapKey = WireTag(1, WireType::kBytes);
constexpr uint32_t kMapValue = WireTag(2, WireType::kBytes);

// One entry of a map field with string keys; value bytes are text or a message.
absl::StatusOr<TextPair> ReadMapEntry(WireReader entry) {
  TextPair pair;
  while (entry.Next()) {
    if (entry.tag() == kMapKey) pair.first = entry.bytes();
    if (entry.tag() == kMapValue) pair.second = entry.bytes();
  }
  if (!entry.ok()) return entry.status();
  return pair;
}

// The name in an OpDef in which something is wrong.
std::string SchemaName(absl::string_view op_def) {
  std::string name;
  WireReader reader(op_def);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes)) name = std::string(reader.bytes());
  }
  return name;
}

// Rewords the error of an op's schema for a function's signature: "op 'f': ..." becomes "function 'f': ...".
absl::Status AsSignatureError(const absl::Status& status) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->code != ErrorCode::kOpSchema) return status;
  info->code = ErrorCode::kFunctionSignature;
  if (absl::StartsWith(info->text, "op '")) info->text.replace(0, 2, "function");
  if (info->text == "the op has no name") info->text = "a function of the library has no name";
  return MakeError(*info);
}

// Keeps the last of the entries with equal keys, as a protobuf map does, and sorts by key.
template <typename Entry, typename KeyOf>
void KeepLast(std::vector<Entry>& entries, const KeyOf& key_of) {
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return key_of(a) < key_of(b); });
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && key_of(entries[i]) == key_of(entries[i + 1])) continue;
    entries[kept++] = entries[i];
  }
  entries.resize(kept);
}

// Arguments look for their attrs by name. No call could give more attrs than a node may have.
absl::Status CheckAttrCount(WireReader signature, const LoadLimits& limits) {
  constexpr uint32_t kAttrOfSignature = WireTag(4, WireType::kBytes);
  int64_t count = 0;
  while (signature.Next()) count += signature.tag() == kAttrOfSignature ? 1 : 0;
  if (count <= limits.max_attrs_per_node) return absl::OkStatus();
  return Error(ErrorCode::kLimitAttrs)
      .Limit("max_attrs_per_node", limits.max_attrs_per_node)
      .Text(absl::StrCat("a function declares ", count, " attrs"));
}

absl::Status ReadSignature(absl::string_view bytes, size_t offset, const LoadLimits& limits,
                           FunctionDefinition& function) {
  SLUICE_RETURN_IF_ERROR(CheckAttrCount(WireReader(bytes), limits));
  absl::StatusOr<OpSchema> schema = ParseOpDef(bytes, offset);
  if (!schema.ok()) {
    function.schema.name = SchemaName(bytes);
    return AsSignatureError(schema.status());
  }
  function.schema = *std::move(schema);
  return absl::OkStatus();
}

// Reads the fields of the message at `reader` into `function`. `limits` bounds names, counts and nesting.
absl::Status ReadFields(WireReader& reader, const LoadLimits& limits, FunctionDefinition& function) {
  int num_signatures = 0;
  std::string signatures;
  while (reader.Next()) {
    switch (reader.tag()) {
      case kSignature: {
        if (++num_signatures == 1) {
          SLUICE_RETURN_IF_ERROR(ReadSignature(reader.bytes(), reader.payload_offset(), limits, function));
        }
        signatures.append(reader.bytes().data(), reader.bytes().size());
        break;
      }
      case kOldBody:
        return Error(ErrorCode::kFunctionBody)
            .AtByte(static_cast<int64_t>(reader.offset()))
            .Text("the body has the form used before 2015, which is no longer read");
      case kNodeDef: {
        if (static_cast<int64_t>(function.nodes.size()) >= limits.max_nodes) {
          return Error(ErrorCode::kLimitNodes)
              .Limit("max_nodes", limits.max_nodes)
              .Text("a function body has more nodes than a graph may have");
        }
        SLUICE_ASSIGN_OR_RETURN(NodeDefView node,
                                ParseNodeDef(reader.bytes(), static_cast<int64_t>(reader.payload_offset()), limits));
        if (node.name.empty()) {  // Refused at once: two bytes must not become a hundred.
          return Error(ErrorCode::kNodeName)
              .Node("", node.op)
              .AtByte(node.byte_begin)
              .Text("a node of the body has no name");
        }
        function.nodes.push_back(std::move(node));
        break;
      }
      case kRet: {
        SLUICE_ASSIGN_OR_RETURN(TextPair pair, ReadMapEntry(reader.Message()));
        function.ret.push_back(pair);
        break;
      }
      case kAttr: {
        SLUICE_ASSIGN_OR_RETURN(TextPair pair, ReadMapEntry(reader.Message()));
        function.attrs.push_back(NamedAttr{pair.first, AttrView(pair.second)});
        break;
      }
      case kControlRet: {
        SLUICE_ASSIGN_OR_RETURN(TextPair pair, ReadMapEntry(reader.Message()));
        function.control_ret.push_back(pair);
        break;
      }
      default:
        break;
    }
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  // Protobuf merges a message that comes again.
  return num_signatures < 2 ? absl::OkStatus() : ReadSignature(signatures, 0, limits, function);
}

// "the name of an output: y, z".
std::string OutputNames(const OpSchema& schema) {
  if (schema.outputs.empty()) return "no entries: the function has no outputs";
  return absl::StrCat(
      "the name of an output: ",
      absl::StrJoin(schema.outputs, ", ", [](std::string* out, const ArgSpec& arg) { out->append(arg.name); }));
}

// Names that must be there and differ: the function's own, its arguments', results' and attrs'.
absl::Status CheckNames(const FunctionDefinition& function, const LoadLimits& limits) {
  const OpSchema& schema = function.schema;
  if (schema.name.empty()) return Error(ErrorCode::kFunctionSignature).Text("a function of the library has no name");
  if (static_cast<int64_t>(schema.name.size()) > limits.max_name_bytes) {
    return Error(ErrorCode::kLimitName)
        .Limit("max_name_bytes", limits.max_name_bytes)
        .Found(absl::StrCat("a function name of ", schema.name.size(), " bytes"));
  }
  for (const auto& entry : function.ret) {
    if (!entry.first.empty()) continue;
    return Error(ErrorCode::kFunctionRet)
        .Text(absl::StrCat("function '", PrintableName(schema.name), "': an entry of ret has an empty key"))
        .Found(absl::StrCat("'' -> '", entry.second, "'"))
        .Expected(OutputNames(schema));
  }
  for (const NamedAttr& attr : function.attrs) {
    if (attr.name.empty())
      return Error(ErrorCode::kFunctionSignature)
          .Text(absl::StrCat("function '", PrintableName(schema.name), "': an attr has no name"));
  }
  return absl::OkStatus();
}

// The signature's bytes as they stand: OpDefs hold no maps, so equal signatures are equal bytes in practice.
std::string SignatureBytes(const FunctionDefinition& function) {
  std::string bytes;
  WireReader reader(function.bytes);
  while (reader.Next()) {
    if (reader.tag() == kSignature) bytes.append(reader.bytes().data(), reader.bytes().size());
  }
  return bytes;
}

bool AttrsEqual(const std::vector<NamedAttr>& a, const std::vector<NamedAttr>& b) {
  if (a.size() != b.size()) return false;
  HashMap<absl::string_view, AttrView> by_name;
  for (const NamedAttr& attr : a) by_name[attr.name] = attr.value;
  return std::all_of(b.begin(), b.end(), [&](const NamedAttr& attr) {
    const auto found = by_name.find(attr.name);
    return found != by_name.end() && AttrView::Equal(found->second, attr.value);
  });
}

bool NodesEqual(const NodeDefView& a, const NodeDefView& b) {
  return a.name == b.name && a.op == b.op && a.device == b.device && a.inputs == b.inputs &&
         AttrsEqual(a.attrs, b.attrs);
}

// Whether two functions mean the same, whatever the order of maps in their bytes.
bool SameFunction(const FunctionDefinition& a, const FunctionDefinition& b) {
  if (a.bytes == b.bytes) return true;
  if (a.nodes.size() != b.nodes.size() || a.ret != b.ret || a.control_ret != b.control_ret) return false;
  if (!AttrsEqual(a.attrs, b.attrs) || SignatureBytes(a) != SignatureBytes(b)) return false;
  HashMap<absl::string_view, const NodeDefView*> by_name;
  for (const NodeDefView& node : a.nodes) by_name[node.name] = &node;
  return std::all_of(b.nodes.begin(), b.nodes.end(), [&](const NodeDefView& node) {
    const auto found = by_name.find(node.name);
    return found != by_name.end() && NodesEqual(*found->second, node);
  });
}

}  // namespace

const NamedAttr* FunctionDefinition::FindAttr(absl::string_view name) const {
  for (const NamedAttr& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

bool FunctionDefinition::IsMarked(absl::string_view attr) const {
  const NamedAttr* const mark = FindAttr(attr);
  return mark != nullptr && mark->value.AsBool().value_or(false);
}

absl::Status FunctionDefinition::Locate(const NodeDefView* node, const absl::Status& status) const {
  const absl::Status named = node == nullptr ? status : WithNode(status, node->name, node->op);
  return file == nullptr ? named : file->Locate(named, -1, node == nullptr ? bytes : node->bytes);
}

absl::StatusOr<std::shared_ptr<const FunctionDefinition>> ParseFunctionDef(std::shared_ptr<const void> owner,
                                                                           absl::string_view bytes, int64_t base_offset,
                                                                           const LoadLimits& limits,
                                                                           std::shared_ptr<const SourceFile> file) {
  auto function = std::make_shared<FunctionDefinition>();
  function->bytes = bytes;
  function->owner = std::move(owner);
  function->file = std::move(file);
  WireReader reader(bytes, static_cast<size_t>(std::max<int64_t>(base_offset, 0)));
  absl::Status status = ReadFields(reader, limits, *function);
  if (status.ok()) status = CheckNames(*function, limits);
  if (!status.ok()) return WithFunction(function->Locate(nullptr, status), function->schema.name);
  KeepLast(function->ret, [](const TextPair& pair) { return pair.first; });
  KeepLast(function->control_ret, [](const TextPair& pair) { return pair.first; });
  KeepLast(function->attrs, [](const NamedAttr& attr) { return attr.name; });
  return std::shared_ptr<const FunctionDefinition>(std::move(function));
}

std::shared_ptr<const FunctionDefinition> FunctionLibrary::Find(absl::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

const OpSchema* FunctionLibrary::FindSchema(absl::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second->schema;
}

std::vector<std::string> FunctionLibrary::Names() const {
  std::vector<std::string> names;
  names.reserve(functions_.size());
  for (const auto& entry : functions_) names.push_back(entry.first);
  return names;
}

std::vector<std::string> FunctionLibrary::NamesAsAdded() const {
  std::vector<std::string> names;
  names.reserve(functions_.size());
  for (const std::shared_ptr<const FunctionDefinition>& function : added_) {
    if (FindSchema(function->name()) == &function->schema) names.push_back(function->name());
  }
  return names;
}

absl::Status FunctionLibrary::Add(std::shared_ptr<const FunctionDefinition> function) {
  const auto found = functions_.find(function->name());
  if (found != functions_.end()) {
    if (SameFunction(*found->second, *function)) return absl::OkStatus();
    return Error(ErrorCode::kFunctionDuplicate)
        .Function(function->name())
        .Text(absl::StrCat("function '", PrintableName(function->name()), "': defined twice, differently"));
  }
  functions_.emplace(function->name(), function);
  added_.push_back(std::move(function));
  return absl::OkStatus();
}

void FunctionLibrary::Remove(absl::string_view name) {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return;
  functions_.erase(found);
}

void FunctionLibrary::RemoveUnless(absl::FunctionRef<bool(absl::string_view name)> keep) {
  for (auto it = functions_.begin(); it != functions_.end();) {
    it = keep(it->first) ? std::next(it) : functions_.erase(it);
  }
  for (auto it = gradients_.begin(); it != gradients_.end();) {
    const bool has_first = IsRegisteredGradientKey(it->first) || Contains(it->first);
    it = has_first && Contains(it->second) ? std::next(it) : gradients_.erase(it);
  }
}

std::string FunctionLibrary::UniqueName(absl::string_view prefix) const {
  return FreeName(prefix, [this](absl::string_view name) { return Contains(name); });
}

absl::string_view FunctionLibrary::FindGradient(absl::string_view name) const {
  const auto found = gradients_.find(name);
  return found == gradients_.end() ? absl::string_view() : absl::string_view(found->second);
}

absl::Status FunctionLibrary::AddGradient(absl::string_view function, absl::string_view gradient) {
  const auto inserted = gradients_.emplace(std::string(function), std::string(gradient));
  if (!inserted.second && inserted.first->second != gradient) {
    return Error(ErrorCode::kFunctionGradient)
        .Function(function)
        .Text(absl::StrCat("function '", PrintableName(function), "': has two gradient functions, '",
                           PrintableName(inserted.first->second), "' and '", PrintableName(gradient), "'"));
  }
  return absl::OkStatus();
}

}  // namespace sluice
