#include "kernels/linalg/einsum_equation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

absl::Status Wrong(absl::string_view text, absl::string_view expected) {
  return Error(ErrorCode::kOpAttr).Attr("equation").Found(text).Expected(expected);
}

// One side's labels: letters, and "..." once.
absl::StatusOr<EinsumEquation::Labels> ParseLabels(absl::string_view text, absl::string_view equation) {
  EinsumEquation::Labels labels;
  while (!text.empty()) {
    if (text.substr(0, 3) == "...") {
      if (absl::c_linear_search(labels, EinsumEquation::kEllipsis)) return Wrong(equation, "'...' once in a term");
      labels.push_back(EinsumEquation::kEllipsis);
      text.remove_prefix(3);
      continue;
    }
    if (!absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) return Wrong(equation, "letters, ',', '->', '...'");
    labels.push_back(text[0]);
    text.remove_prefix(1);
  }
  return labels;
}

}  // namespace

absl::StatusOr<EinsumEquation> EinsumEquation::Parse(absl::string_view text, int num_inputs) {
  const std::vector<absl::string_view> sides = absl::StrSplit(text, "->");
  if (sides.size() != 2) return Wrong(text, "one '->'");
  const std::vector<absl::string_view> terms = absl::StrSplit(sides[0], ',');
  if (terms.size() != static_cast<size_t>(num_inputs)) return Wrong(text, "a term for each input");
  if (terms.size() > 2) return Wrong(text, "one or two inputs");
  EinsumEquation equation;
  bool has_hidden = false;
  for (const absl::string_view term : terms) {
    absl::StatusOr<Labels> labels = ParseLabels(term, text);
    if (!labels.ok()) return labels.status();
    has_hidden = has_hidden || absl::c_linear_search(*labels, kEllipsis);
    equation.inputs.push_back(*std::move(labels));
  }
  absl::StatusOr<Labels> output = ParseLabels(sides[1], text);
  if (!output.ok()) return output.status();
  equation.output = *std::move(output);
  for (const int label : equation.output) {
    const bool is_known =
        absl::c_any_of(equation.inputs, [label](const Labels& labels) { return absl::c_linear_search(labels, label); });
    if (!is_known) return Wrong(text, "no label in the output that is in no input");
  }
  if (has_hidden && !absl::c_linear_search(equation.output, kEllipsis)) return Wrong(text, "'...' in the output, too");
  return equation;
}

EinsumEquation::Labels EinsumEquation::Expand(absl::Span<const int> labels, int count) {
  Labels expanded;
  for (const int label : labels) {
    if (label != kEllipsis) {
      expanded.push_back(label);
      continue;
    }
    for (int i = count; i-- > 0;) expanded.push_back(kFirstHidden + i);
  }
  return expanded;
}

}  // namespace sluice
