// The gradient of Einsum: Einsums again, with the subscripts exchanged.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

constexpr absl::string_view kEllipsis = "...";

bool HasEllipsis(absl::string_view subscripts) { return absl::StrContains(subscripts, kEllipsis); }
bool HasLabel(absl::string_view subscripts, char label) { return absl::StrContains(subscripts, label); }

// The dimension of the first `label`; counted from the end (negative) behind the ellipsis.
int64_t AxisOf(absl::string_view subscripts, char label) {
  const std::vector<absl::string_view> parts = absl::StrSplit(subscripts, kEllipsis);
  const size_t in_first = parts[0].find(label);
  if (in_first != absl::string_view::npos || parts.size() < 2) return static_cast<int64_t>(in_first);
  return static_cast<int64_t>(parts[1].find(label)) - static_cast<int64_t>(parts[1].size());
}

Expr EinsumOf(const Exprs& operands, const std::string& equation) {
  return AddOp("Einsum", operands, {{"equation", AttrValue(equation)}});
}

// Takes `value`, whose dimensions are `from`, to those of `to`, an operand: labels that are missing have been summed,
// so that every place along them gets the same.
Expr Expanded(const Expr& value, const std::string& from, const Expr& operand, const std::string& to) {
  std::string missing;
  for (const char label : to) {
    if (label != '.' && !HasLabel(from, label) && !HasLabel(missing, label)) missing.push_back(label);
  }
  if (missing.empty()) return from == to ? value : EinsumOf({value}, absl::StrCat(from, "->", to));
  const Expr shape = ShapeOf(operand);
  Exprs dims;
  for (const char label : missing) dims.push_back(Element(shape, AxisOf(to, label)));
  const Expr whole = BroadcastTo(value, Concat({Pack(dims), ShapeOf(value)}, 0));
  return EinsumOf({whole}, absl::StrCat(missing, from, "->", to));
}

// Sums `value`, whose dimensions at the ellipsis of `subscripts` are those of the result, down to `operand`'s.
Expr SumEllipsis(const Expr& value, const Expr& operand, const std::string& subscripts, const Expr& other,
                 const std::string& other_subscripts) {
  const auto dims = [](const Expr& x, const std::string& in) {
    const int64_t begin = static_cast<int64_t>(absl::string_view(in).find(kEllipsis));
    const int64_t behind = static_cast<int64_t>(in.size()) - begin - static_cast<int64_t>(kEllipsis.size());
    const Expr shape = ShapeOf(x);
    return behind == 0 ? SliceFrom(shape, begin) : SliceRange(shape, begin, -behind);
  };
  const Expr axes = AddOp("BroadcastGradientArgs", {dims(operand, subscripts), dims(other, other_subscripts)});
  const int64_t begin = static_cast<int64_t>(absl::string_view(subscripts).find(kEllipsis));
  return Reshape(Sum(value, axes + static_cast<double>(begin)), ShapeOf(operand));
}

absl::Status Einsum(GradientContext& c) {
  const std::pair<std::string, std::string> sides = absl::StrSplit(c.String("equation"), absl::MaxSplits("->", 1));
  std::vector<std::string> inputs = absl::StrSplit(sides.first, ',');
  const std::string& output = sides.second;
  if (static_cast<int>(inputs.size()) != c.num_inputs() || inputs.size() > 2) {
    return c.Refuse("it has other operands than its equation, or more than two");
  }
  const bool is_batched = HasEllipsis(output);
  for (std::string& subscripts : inputs) {
    if (!is_batched && HasEllipsis(subscripts)) return c.Refuse("it sums over an ellipsis");
    if (is_batched && !HasEllipsis(subscripts)) absl::StrAppend(&subscripts, kEllipsis);
  }
  const Expr dy = c.dy();
  if (inputs.size() == 1) {
    c.SetInput(0, Expanded(dy, output, c.Input(0), inputs[0]));
    return absl::OkStatus();
  }
  for (int i = 0; i < 2; ++i) {
    if (!c.Wants(i)) continue;
    const std::string& own = inputs[static_cast<size_t>(i)];
    const std::string& others = inputs[static_cast<size_t>(1 - i)];
    const Expr x = c.Input(i), other = c.Input(1 - i);
    std::string left;  // Labels of the product of dy and the other operand.
    for (const char label : own) {
      if (label == '.' || HasLabel(output, label) || HasLabel(others, label)) left.push_back(label);
    }
    Expr dx = EinsumOf({dy, Conj(other)}, absl::StrCat(output, ",", others, "->", left));
    if (left != own) dx = Expanded(dx, left, x, own);
    c.SetInput(i, is_batched ? SumEllipsis(dx, x, own, other, others) : dx);
  }
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {{"Einsum", &Einsum}};

}  // namespace

absl::Span<const GradientRow> EinsumGradients() { return kRows; }

}  // namespace sluice
