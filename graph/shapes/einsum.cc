// The shape of Einsum.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// One side of an equation: labels in order, '.' for an ellipsis.
using Labels = std::string;

// Splits "ab...,bc->ac" into operands and result. kAttrValue for what the kernel refuses; *plain is false if there are
// labels other than letters, whose meaning we do not know.
absl::Status ParseEquation(const InferenceContext& c, std::vector<Labels>* operands, Labels* result, bool* plain) {
  *plain = true;
  const auto refuse = [&c](absl::string_view why) { return c.AttrError("equation", why); };
  const absl::string_view equation = c.String("equation");
  const std::vector<absl::string_view> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return refuse("expected exactly one '->'");
  std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (static_cast<int>(terms.size()) != c.num_inputs()) {
    return refuse(absl::StrCat("found ", terms.size(), " operands for ", c.num_inputs(), " inputs"));
  }
  terms.emplace_back(sides[1]);
  for (std::string& term : terms) {
    Labels labels;
    absl::string_view rest = term;
    while (!rest.empty()) {
      const bool ellipsis = absl::ConsumePrefix(&rest, "...");
      const char label = ellipsis ? '.' : rest[0];
      if (!ellipsis) rest.remove_prefix(1);
      if (!ellipsis && !absl::ascii_isalpha(static_cast<unsigned char>(label))) *plain = false;
      if (ellipsis && labels.find('.') != Labels::npos) return refuse("more than one ellipsis for an operand");
      labels.push_back(label);
    }
    term = labels;
  }
  *result = terms.back();
  terms.pop_back();
  *operands = std::move(terms);
  return absl::OkStatus();
}

// What the labels stand for, gathered from the operands.
struct Sizes {
  std::map<char, int64_t> labels;
  PartialShape broadcast = PartialShape::Scalar();  // What the ellipses stand for.
  bool known = true;                                // False when the rank of an operand is unknown.
};

// Notes the sizes of operand `i`. Sizes of 0 may meet others: the kernel does not look at them.
absl::Status NoteOperand(const InferenceContext& c, int i, const Labels& labels, Sizes* sizes) {
  const PartialShape& shape = c.input(i);
  if (!shape.has_rank()) {
    sizes->known = sizes->known && labels.find('.') == Labels::npos;
    return absl::OkStatus();
  }
  const size_t ellipsis = labels.find('.');
  const int named = static_cast<int>(labels.size()) - (ellipsis != Labels::npos ? 1 : 0);
  const bool fits = ellipsis != Labels::npos ? shape.rank() >= named : shape.rank() == named;
  if (!fits) return c.RankError(i, absl::StrCat("rank ", named, ", the number of labels"));
  int axis = 0;
  for (const char label : labels) {
    if (label == '.') {
      const int end = axis + shape.rank() - named;
      bool differ = false;
      sizes->broadcast = BroadcastShapes(sizes->broadcast, SubShape(shape, axis, end), &differ);
      if (differ) return c.MismatchError(i, "the dimensions of the ellipsis do not broadcast", shape, PartialShape());
      axis = end;
      continue;
    }
    const int64_t size = shape.dim(axis++);
    const auto [found, is_new] = sizes->labels.emplace(label, size);
    if (is_new) continue;
    int64_t& noted = found->second;
    if (noted > 0 && size > 0 && noted != size) {
      return c.MismatchError(i,
                             absl::StrCat("label ", absl::string_view(&label, 1), " stands for ", noted, " and ", size),
                             shape, PartialShape());
    }
    // Of two unknown sizes one may be 0, and then they need not be equal.
    noted = noted < 0 && size < 0 && noted != size ? kUnknownDim : EitherDim(noted, size);
  }
  return absl::OkStatus();
}

absl::Status Einsum(InferenceContext& c) {
  std::vector<Labels> operands;
  Labels result;
  bool plain;
  SLUICE_RETURN_IF_ERROR(ParseEquation(c, &operands, &result, &plain));
  if (!plain) return absl::OkStatus();
  Sizes sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(NoteOperand(c, static_cast<int>(i), operands[i], &sizes));
  }
  if (!sizes.known || (!sizes.broadcast.has_rank() && result.find('.') != Labels::npos)) return absl::OkStatus();
  PartialShape shape = PartialShape::Scalar();
  for (const char label : result) {
    const auto found = sizes.labels.find(label);
    const int64_t size = found != sizes.labels.end() ? found->second : kUnknownDim;
    shape = ConcatShapes(shape, label == '.' ? sizes.broadcast : ShapeOf({size}));
  }
  c.Set(0, shape);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Einsum", &Einsum},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> EinsumRows() { return kRows; }

}  // namespace sluice
