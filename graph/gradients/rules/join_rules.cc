// Gradients of ops that join values, or take them apart.

#include <optional>
#include <vector>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// The gradients of all outputs; zeros for missing ones.
Exprs AllDys(GradientContext& c) {
  Exprs dys;
  for (int i = 0; i < c.num_outputs(); ++i) dys.push_back(c.dy(i));
  return dys;
}

// The position of a Concat's values among its inputs, and its axis.
struct Joined {
  int first, end;
  int axis_input;
  std::optional<int64_t> axis;  // If constant; not negative.
  int rank;                     // -1 where unknown.
};

Joined JoinedBy(const GradientContext& c, int first, int axis_input) {
  Joined joined = {first, first + c.num_inputs() - 1, axis_input, std::nullopt, -1};
  for (int i = joined.first; i < joined.end && joined.rank < 0; ++i) joined.rank = c.InputRank(i);
  if (const std::optional<std::vector<int64_t>> axis = c.ConstInts(axis_input); axis.has_value() && axis->size() == 1) {
    const int64_t given = (*axis)[0];
    if (joined.rank < 0) {
      if (given >= 0) joined.axis = given;
    } else if (given >= -joined.rank && given < joined.rank) {  // Others fail in the run.
      joined.axis = given < 0 ? given + joined.rank : given;
    }
  }
  return joined;
}

// The sizes of all values along the axis, where they are known before the run.
std::optional<std::vector<int64_t>> KnownSizes(const GradientContext& c, const Joined& joined) {
  if (!joined.axis.has_value()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (int i = joined.first; i < joined.end; ++i) {
    const PartialShape shape = c.InputShape(i);
    if (!shape.has_rank() || *joined.axis >= shape.rank() || shape.dim(static_cast<int>(*joined.axis)) < 0) {
      return std::nullopt;
    }
    sizes.push_back(shape.dim(static_cast<int>(*joined.axis)));
  }
  return sizes;
}

// The sizes of all values along `axis`, a vector.
Expr Sizes(GradientContext& c, const Joined& joined, const Expr& axis) {
  Exprs shapes;
  for (int i = joined.first; i < joined.end; ++i) shapes.push_back(ShapeOf(c.Input(i)));
  return Gather(Pack(shapes, 1), axis);
}

absl::Status ConcatOf(GradientContext& c, const Joined& joined) {
  if (joined.end - joined.first == 1) {
    c.SetInput(joined.first, c.DyAsIs());
    return absl::OkStatus();
  }
  const std::optional<std::vector<int64_t>> sizes = KnownSizes(c, joined);
  int num_wanted = 0;
  for (int i = joined.first; i < joined.end; ++i) num_wanted += c.Wants(i) ? 1 : 0;
  // Slice out a single piece, without copying the others.
  if (sizes.has_value() && num_wanted == 1 && joined.rank > *joined.axis) {
    std::vector<int64_t> begin(static_cast<size_t>(joined.rank), 0), size(begin.size(), -1);
    const size_t axis = static_cast<size_t>(*joined.axis);
    for (int i = joined.first; i < joined.end; ++i) {
      size[axis] = (*sizes)[static_cast<size_t>(i - joined.first)];
      if (c.Wants(i)) {
        c.SetInput(i, Slice(c.dy(), c.Int32s(begin), c.Int32s(size)));
        return absl::OkStatus();
      }
      begin[axis] += size[axis];
    }
  }
  const Expr axis = joined.axis.has_value()
                        ? c.Int32(*joined.axis)
                        : FloorMod(Cast(c.Input(joined.axis_input), DType::kInt32), RankOf(c.Input(joined.first)));
  const Expr pieces = AddOp("SplitV", {c.dy(), sizes.has_value() ? c.Int32s(*sizes) : Sizes(c, joined, axis), axis},
                            {{"num_split", AttrValue(int64_t{joined.end - joined.first})}});
  for (int i = joined.first; i < joined.end; ++i) {
    if (c.Wants(i)) c.SetInput(i, pieces.out(i - joined.first));
  }
  return absl::OkStatus();
}

absl::Status ConcatV1(GradientContext& c) { return ConcatOf(c, JoinedBy(c, 1, 0)); }
absl::Status ConcatV2(GradientContext& c) { return ConcatOf(c, JoinedBy(c, 0, c.num_inputs() - 1)); }

absl::Status Pack(GradientContext& c) {
  const Expr pieces =
      AddOp("Unpack", {c.dy()}, {{"num", AttrValue(int64_t{c.num_inputs()})}, {"axis", AttrValue(c.Int("axis"))}});
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.Wants(i)) c.SetInput(i, pieces.out(i));
  }
  return absl::OkStatus();
}

absl::Status Unpack(GradientContext& c) {
  c.SetInput(0, Pack(AllDys(c), c.Int("axis")));
  return absl::OkStatus();
}

absl::Status Split(GradientContext& c) {
  c.SetInput(1, Concat(AllDys(c), c.Input(0)));
  return absl::OkStatus();
}

absl::Status SplitV(GradientContext& c) {
  c.SetInput(0, Concat(AllDys(c), c.Input(2)));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Concat", &ConcatV1}, {"ConcatV2", &ConcatV2}, {"Pack", &Pack},
    {"Split", &Split},     {"SplitV", &SplitV},     {"Unpack", &Unpack},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> JoinGradients() { return kRows; }

}  // namespace sluice
