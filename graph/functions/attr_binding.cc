#include "graph/functions/attr_binding.h"

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// The messages that an AttrValue is made of, as far as placeholders can stand in them.
enum class Message : uint8_t { kAttrValue, kList, kFunc, kFuncAttr };

constexpr uint32_t kPlaceholderTag = WireTag(9, WireType::kBytes);

// Whether the field `tag` of `message` holds a message in which placeholders can stand; which one goes to `child`.
bool LeadsOn(Message message, uint32_t tag, Message* child) {
  switch (message) {
    case Message::kAttrValue:
      if (tag == WireTag(1, WireType::kBytes)) return *child = Message::kList, true;
      if (tag == WireTag(10, WireType::kBytes)) return *child = Message::kFunc, true;
      return false;
    case Message::kList:
      if (tag == WireTag(9, WireType::kBytes)) return *child = Message::kFunc, true;
      return false;
    case Message::kFunc:
      if (tag == WireTag(2, WireType::kBytes)) return *child = Message::kFuncAttr, true;
      return false;
    case Message::kFuncAttr:
      if (tag == WireTag(2, WireType::kBytes)) return *child = Message::kAttrValue, true;
      return false;
  }
  return false;
}

// A message that is being read, and (unless it is the outermost) the mark of its copy.
struct Level {
  WireReader reader;
  Message message;
  size_t mark;
};

// Whether the values that determine the signature are there and of the right kind.
absl::Status CheckValues(const OpSchema& schema, const BoundAttrs& attrs) {
  for (const AttrSpec& spec : schema.attrs) {
    const auto found = attrs.find(spec.name);
    if (found == attrs.end()) {
      return Error(ErrorCode::kAttrUnbound)
          .Attr(spec.name)
          .Text(absl::StrCat("is needed by function '", PrintableName(schema.name), "' and not given by the call"));
    }
    SLUICE_RETURN_IF_ERROR(WithAttr(CheckAttr(spec, found->second.view(), LoadLimits()), spec.name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BoundFunction> BindFunction(const FunctionLibrary& library, absl::string_view name,
                                           absl::Span<const NamedAttr> given) {
  BoundFunction bound;
  bound.definition = library.Find(name);
  if (bound.definition == nullptr) {
    return Error(ErrorCode::kFunctionUnknown)
        .Text(name.empty() ? std::string("names no function")
                           : absl::StrCat("needs a function '", PrintableName(name), "' that is not in the library"));
  }
  const OpSchema& schema = bound.definition->schema;
  for (const AttrSpec& spec : schema.attrs) {
    if (spec.has_default) bound.attrs[spec.name] = AttrValue::FromBytes(spec.default_value);
  }
  for (const NamedAttr& attr : given) {
    if (absl::StartsWith(attr.name, "_") && schema.FindAttr(attr.name) == nullptr) continue;
    bound.attrs[std::string(attr.name)] = AttrValue::FromBytes(attr.value.bytes());
  }
  absl::Status status = CheckValues(schema, bound.attrs);
  if (!status.ok()) return WithFunction(status, name);
  const auto find = [&](absl::string_view attr, AttrView* value) {
    const auto found = bound.attrs.find(attr);
    if (found == bound.attrs.end()) return false;
    *value = found->second.view();
    return true;
  };
  absl::StatusOr<Signature> signature = ComputeSignature(schema, find, LoadLimits().max_inputs_per_node);
  if (!signature.ok()) return WithFunction(signature.status(), name);
  bound.signature = *std::move(signature);
  return bound;
}

int64_t SubstitutionBudget(const BoundAttrs& bound) {
  int64_t bytes = int64_t{4} << 20;
  for (const auto& attr : bound) bytes += static_cast<int64_t>(attr.second.bytes().size());
  return bytes;
}

absl::StatusOr<AttrValue> SubstitutePlaceholders(AttrView value, const BoundAttrs& bound, int64_t* budget) {
  std::string out;
  WireWriter writer(&out);
  std::vector<Level> levels;
  levels.push_back({WireReader(value.bytes()), Message::kAttrValue, 0});
  while (!levels.empty()) {
    Level& level = levels.back();
    if (!level.reader.Next()) {
      if (!level.reader.ok()) return level.reader.status();
      if (levels.size() > 1) writer.EndMessage(level.mark);
      levels.pop_back();
      continue;
    }
    Message child;
    if (LeadsOn(level.message, level.reader.tag(), &child)) {
      const size_t mark = writer.BeginMessage(level.reader.field());
      levels.push_back({level.reader.Message(), child, mark});
    } else if (level.message == Message::kAttrValue && level.reader.tag() == kPlaceholderTag) {
      const auto found = bound.find(level.reader.bytes());
      if (found == bound.end()) {
        return Error(ErrorCode::kAttrUnbound)
            .Attr(level.reader.bytes())
            .Text("has no value at the call, and the body needs it");
      }
      if (budget != nullptr) *budget -= static_cast<int64_t>(found->second.bytes().size());
      if (budget != nullptr && *budget < 0) {
        return Error(ErrorCode::kLimitAttrBytes)
            .Attr(level.reader.bytes())
            .Text("makes the attrs of the function's body too large");
      }
      writer.Raw(found->second.bytes());
    } else {
      writer.Raw(level.reader.raw());
    }
  }
  return AttrValue::FromBytes(out);
}

bool HasPlaceholder(AttrView value) {
  std::vector<Level> levels;
  levels.push_back({WireReader(value.bytes()), Message::kAttrValue, 0});
  while (!levels.empty()) {
    Level& level = levels.back();
    if (!level.reader.Next()) {
      levels.pop_back();
      continue;
    }
    Message child;
    if (LeadsOn(level.message, level.reader.tag(), &child)) {
      levels.push_back({level.reader.Message(), child, 0});
    } else if (level.message == Message::kAttrValue && level.reader.tag() == kPlaceholderTag) {
      return true;
    }
  }
  return false;
}

std::string Canonicalize(absl::string_view name, const BoundAttrs& attrs) {
  std::string key(name);
  key += '[';
  for (const auto& attr : attrs) {
    if (key.back() != '[') key += ',';
    absl::StrAppend(&key, attr.first, "=");
    switch (attr.second.view().kind()) {
      case AttrKind::kInt:
      case AttrKind::kBool:
      case AttrKind::kType:
        absl::StrAppend(&key, attr.second.view().ToString());
        break;
      default:  // The text of a value may leave something out: its bytes do not.
        absl::StrAppend(&key, "\"", absl::CEscape(attr.second.bytes()), "\"");
        break;
    }
  }
  key += ']';
  return key;
}

}  // namespace sluice
