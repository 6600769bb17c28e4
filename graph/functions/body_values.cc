#include "graph/functions/body_values.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Reads a list index: digits only.
bool ParseIndex(absl::string_view text, int32_t* index) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, index);
}

absl::Status UnknownValue(absl::string_view text) {
  return Error(ErrorCode::kFunctionBody)
      .Text(absl::StrCat("needs '", PrintableName(text), "', which is neither an argument nor an output in the body"));
}

// Appends outputs [begin, end) of `node`, or (with a `text_index`) the one of them that it says.
absl::Status AppendRange(absl::string_view text, int32_t node, int32_t begin, int32_t end,
                         const absl::string_view* text_index, std::vector<BodyValue>* values) {
  if (text_index != nullptr) {
    int32_t index = 0;
    if (!ParseIndex(*text_index, &index)) return UnknownValue(text);
    if (index >= end - begin) {
      return Error(ErrorCode::kFunctionBody)
          .Text(absl::StrCat("needs '", PrintableName(text), "', but there is no such element"))
          .Found(absl::StrCat(index))
          .Expected(absl::StrCat("below ", end - begin));
    }
    begin += index;
    end = begin + 1;
  }
  for (int32_t slot = begin; slot < end; ++slot) values->push_back({node, slot});
  return absl::OkStatus();
}

// Cuts `text` at its first ':'. Returns false, and leaves `text` unchanged, if it has none.
bool CutAtColon(absl::string_view* text, absl::string_view* rest) {
  const size_t colon = text->find(':');
  if (colon == absl::string_view::npos) return false;
  *rest = text->substr(colon + 1);
  *text = text->substr(0, colon);
  return true;
}

}  // namespace

BodyValues::BodyValues(const BoundFunction& function) : function_(function) {
  const std::vector<ArgSpec>& args = function.definition->schema.inputs;
  for (size_t i = 0; i < args.size(); ++i) args_[args[i].name] = i;
}

absl::Status BodyValues::AddNode(absl::string_view name) {
  const bool is_new = nodes_.emplace(name, static_cast<int32_t>(outputs_.size())).second;
  outputs_.emplace_back();
  if (!is_new) return Error(ErrorCode::kNodeDuplicate).Text("has the name of another node of the body");
  if (args_.contains(name)) {
    return Error(ErrorCode::kNodeDuplicate).Text("has the name of an argument of the function");
  }
  return absl::OkStatus();
}

void BodyValues::SetOutputs(int32_t node, const OpSchema& schema, const Signature& signature) {
  outputs_[static_cast<size_t>(node)] = {&schema, &signature};
}

int32_t BodyValues::FindNode(absl::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? -1 : found->second;
}

int32_t BodyValues::FindOutput(const OpSchema& schema, absl::string_view name) const {
  constexpr size_t kFew = 8;
  const std::vector<ArgSpec>& outputs = schema.outputs;
  if (outputs.size() <= kFew) {
    const auto is_it = [name](const ArgSpec& output) { return output.name == name; };
    const auto found = std::find_if(outputs.begin(), outputs.end(), is_it);
    return found == outputs.end() ? -1 : static_cast<int32_t>(found - outputs.begin());
  }
  const auto [known, is_new] = output_names_.try_emplace(&schema);
  HashMap<absl::string_view, int32_t>& names = known->second;
  for (size_t i = 0; is_new && i < outputs.size(); ++i) names.emplace(outputs[i].name, static_cast<int32_t>(i));
  const auto found = names.find(name);
  return found == names.end() ? -1 : found->second;
}

absl::Status BodyValues::Resolve(absl::string_view text, std::vector<BodyValue>* values) const {
  absl::string_view name = text;
  absl::string_view output;
  const bool has_output = CutAtColon(&name, &output);
  const auto arg = args_.find(name);
  if (arg != args_.end()) {
    const std::vector<int32_t>& starts = function_.signature.input_starts;
    return AppendRange(text, -1, starts[arg->second], starts[arg->second + 1], has_output ? &output : nullptr, values);
  }
  const int32_t node = FindNode(name);
  if (node < 0) return UnknownValue(text);
  absl::string_view index;
  const bool has_index = CutAtColon(&output, &index);
  const Outputs& producer = outputs_[static_cast<size_t>(node)];
  const int32_t argument = FindOutput(*producer.schema, output);
  if (argument >= 0) {
    const std::vector<int32_t>& starts = producer.signature->output_starts;
    const size_t at = static_cast<size_t>(argument);
    return AppendRange(text, node, starts[at], starts[at + 1], has_index ? &index : nullptr, values);
  }
  return Error(ErrorCode::kFunctionBody)
      .Text(absl::StrCat("needs '", PrintableName(text), "', but ", producer.schema->name, " '", PrintableName(name),
                         "' has no output of that name"));
}

std::optional<BodyValue> BodyValues::FindArgument(absl::string_view name) const {
  const auto arg = args_.find(name);
  if (arg == args_.end()) return std::nullopt;
  const std::vector<int32_t>& starts = function_.signature.input_starts;
  const int32_t slot = starts[arg->second];
  if (slot == starts[arg->second + 1]) return std::nullopt;
  return BodyValue{-1, slot};
}

absl::Status BodyValues::ResolveControl(absl::string_view name, std::vector<BodyValue>* values) const {
  const int32_t node = FindNode(name);
  if (node >= 0) {
    values->push_back({node, kControlIndex});
    return absl::OkStatus();
  }
  const auto arg = args_.find(name);
  if (arg == args_.end()) {
    return Error(ErrorCode::kFunctionBody)
        .Text(absl::StrCat("waits for '", PrintableName(name), "', which is not in the body"));
  }
  // An argument of no tensors leaves nothing to wait for.
  const std::vector<int32_t>& starts = function_.signature.input_starts;
  for (int32_t slot = starts[arg->second]; slot < starts[arg->second + 1]; ++slot) values->push_back({-1, slot});
  return absl::OkStatus();
}

DType BodyValues::TypeOf(const BodyValue& value) const {
  const size_t slot = static_cast<size_t>(value.slot);
  if (value.node < 0) return function_.signature.inputs[slot];
  return outputs_[static_cast<size_t>(value.node)].signature->outputs[slot];
}

}  // namespace sluice
