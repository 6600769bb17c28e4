#include "tools/cli/run/model_names.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/report/endpoint_guess.h"
#include "tools/cli/report/model_report.h"

namespace sluice {
namespace {

constexpr absl::string_view kDefaultSignature = "serving_default";

// "'a', 'b' and 'c'".
std::string QuotedList(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", "'", PrintableName(names[i]), "'");
  }
  return text;
}

absl::Status UnknownSignature(const MetaGraphInfo& meta, const std::string& key) {
  std::vector<std::string> keys;
  for (const ModelSignature& candidate : meta.signatures) keys.push_back(candidate.key);
  ErrorBuilder error = Error(ErrorCode::kSavedModelSignatureUnknown);
  error.Text(absl::StrCat("the model has no signature '", PrintableName(key), "'"));
  error.Help(keys.empty()
                 ? "the model has no signatures: leave --signature out and name tensors of the graph"
                 : absl::StrCat("its ", keys.size() == 1 ? "signature is " : "signatures are ", QuotedList(keys)));
  return error;
}

// A line of a list: a tensor's key, its type, and its name in the graph if that differs.
struct Row {
  std::string name, type, endpoint;
};

std::vector<std::string> Aligned(std::vector<Row> rows, size_t max_rows) {
  const size_t shown = std::min(rows.size(), max_rows);
  size_t name_width = 0, type_width = 0;
  for (Row& row : rows) {
    row.name = PrintableName(row.name);
    row.endpoint = PrintableName(row.endpoint);
  }
  for (size_t i = 0; i < shown; ++i) {
    name_width = std::max(name_width, rows[i].name.size());
    type_width = std::max(type_width, rows[i].endpoint.empty() ? 0 : rows[i].type.size());
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < shown; ++i) {
    const Row& row = rows[i];
    const auto gap = [](const std::string& text, size_t width) {
      return std::string(width > text.size() ? width - text.size() : 0, ' ');
    };
    lines.push_back(absl::StrCat("  ", row.name, gap(row.name, name_width), "  ", row.type,
                                 row.endpoint.empty() ? "" : gap(row.type, type_width) + "  " + row.endpoint));
  }
  if (shown < rows.size())
    lines.push_back(absl::StrCat("  and ", CountText(static_cast<int64_t>(rows.size() - shown)), " more"));
  return lines;
}

std::vector<std::string> Titled(absl::string_view title, std::vector<std::string> lines) {
  if (!lines.empty()) lines.insert(lines.begin(), std::string(title));
  return lines;
}

}  // namespace

absl::StatusOr<ModelNames> ModelNames::Create(const LoadedGraph& model, const std::string& key) {
  const ModelSignature* const signature = model.meta.FindSignature(key.empty() ? std::string(kDefaultSignature) : key);
  if (signature == nullptr && !key.empty()) return UnknownSignature(model.meta, key);
  return ModelNames(model, signature, !key.empty());
}

std::string ModelNames::Endpoint(const std::string& name, const std::vector<SignatureTensor>& tensors) const {
  if (!is_asked_for_ && model_->graph.FindOutput(name).ok()) return name;
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const SignatureTensor& tensor) { return tensor.key == name; });
  return found == tensors.end() || found->name.empty() ? name : found->name;
}

std::string ModelNames::InputEndpoint(const std::string& name) const {
  return signature_ == nullptr ? name : Endpoint(name, signature_->inputs);
}

std::string ModelNames::OutputEndpoint(const std::string& name) const {
  return signature_ == nullptr ? name : Endpoint(name, signature_->outputs);
}

absl::Status ModelNames::Unknown(ErrorCode code, absl::string_view role, const std::string& name) const {
  const std::string wanted(ParseTensorId(name).node);
  std::vector<absl::string_view> names;
  if (signature_ != nullptr) {
    const bool is_feed = code == ErrorCode::kFeedUnknown;
    for (const SignatureTensor& tensor : is_feed ? signature_->inputs : signature_->outputs)
      names.push_back(tensor.key);
  }
  for (const NodeId id : model_->graph.Nodes()) names.push_back(model_->graph.name(id));
  const std::vector<std::string> near = NearestNames(wanted, names, 3);
  ErrorBuilder error = Error(code);
  error.Text(absl::StrCat(
      role, " '", PrintableName(name),
      "': ", signature_ == nullptr ? "the graph has no node" : "the signature has no key and the graph no node", " '",
      PrintableName(wanted), "'"));
  if (!near.empty()) error.Help(absl::StrCat("did you mean '", absl::StrJoin(near, "' or '"), "'?"));
  return error;
}

std::string ModelNames::InputName(const std::string& node) const {
  if (signature_ == nullptr) return node;
  for (const SignatureTensor& tensor : signature_->inputs) {
    if (tensor.name == node || tensor.name == absl::StrCat(node, ":0")) return tensor.key;
  }
  return node;
}

std::vector<std::string> ModelNames::Lines(const std::vector<SignatureTensor>* keys,
                                           const std::vector<Output>& outputs) const {
  const Graph& graph = model_->graph;
  std::vector<Row> rows;
  absl::flat_hash_set<Output> listed;
  const auto type_of = [this](const Output& output) {
    const DType dtype = BaseType(model_->graph.output_type(output.node, output.index));
    const PartialShape shape = OutputShape(*model_, output);
    return absl::StrCat(DTypeName(dtype), " ", shape.has_rank() ? shape.ToString() : "of any shape");
  };
  if (keys != nullptr) {
    for (const SignatureTensor& tensor : *keys) {
      const absl::StatusOr<Output> output = graph.FindOutput(tensor.name);
      if (!output.ok() || output->is_control() || output->index >= graph.num_outputs(output->node)) continue;
      listed.insert(*output);
      rows.push_back({PrintableName(tensor.key), type_of(*output), tensor.name});
    }
  }
  for (const Output& output : outputs) {
    if (listed.insert(output).second) rows.push_back({graph.OutputName(output), type_of(output), ""});
  }
  return Aligned(std::move(rows), kMaxLines);
}

std::vector<std::string> ModelNames::InputLines() const {
  return Lines(signature_ == nullptr ? nullptr : &signature_->inputs,
               GuessEndpoints(model_->graph, model_->control_flow).inputs);
}

std::vector<std::string> ModelNames::OutputLines() const {
  return Lines(signature_ == nullptr ? nullptr : &signature_->outputs,
               GuessEndpoints(model_->graph, model_->control_flow).outputs);
}

std::vector<std::string> ModelNames::InputAdvice() const { return Titled("inputs of the model:", InputLines()); }

std::vector<std::string> ModelNames::OutputAdvice() const { return Titled("outputs of the model:", OutputLines()); }

}  // namespace sluice
