// Shapes of ops that move blocks of pixels between space and batch or depth.

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

absl::Status SpaceToDepth(InferenceContext& c) {
  const int64_t block = c.Int("block_size");
  if (c.String("data_format", "NHWC") != "NHWC" || block <= 0) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  for (const int axis : {1, 2}) {
    const int64_t size = c.dim(0, axis);
    if (size >= 0 && size % block != 0) {
      return c.MismatchError(0, absl::StrCat("dimension ", axis, " is not a multiple of the block size ", block),
                             c.input(0), PartialShape());
    }
  }
  c.Set(0, Dims{c.dim(0, 0), DivDims(c.dim(0, 1), block), DivDims(c.dim(0, 2), block),
                MulDims(c.dim(0, 3), MulDims(block, block))});
  return absl::OkStatus();
}

absl::Status DepthToSpace(InferenceContext& c) {
  const int64_t block = c.Int("block_size"), area = MulDims(block, block);
  if (c.String("data_format", "NHWC") != "NHWC" || block <= 0) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  const int64_t depth = c.dim(0, 3);
  if (depth >= 0 && area > 0 && depth % area != 0) {
    return c.MismatchError(0, absl::StrCat("the depth is not a multiple of the squared block size ", block), c.input(0),
                           PartialShape());
  }
  c.Set(0, Dims{c.dim(0, 0), MulDims(c.dim(0, 1), block), MulDims(c.dim(0, 2), block), DivDims(depth, area)});
  return absl::OkStatus();
}

// Sizes of the blocks, one per dimension behind the batch, and what is added to or cut off both ends of it.
struct Blocks {
  std::vector<int64_t> sizes;
  std::vector<int64_t> borders;  // Two per dimension; empty when unknown.
};

// The amounts at both ends of dimension `i`.
int64_t BorderOf(const Blocks& blocks, size_t i) {
  return AddDims(DimOrUnknown(blocks.borders[2 * i]), DimOrUnknown(blocks.borders[2 * i + 1]));
}

absl::Status ToBatch(InferenceContext& c, const Blocks& blocks) {
  if (!c.input(0).has_rank() || c.rank(0) <= static_cast<int>(blocks.sizes.size())) return absl::OkStatus();
  Dims dims = DimsOf(c.input(0));
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    const bool known = blocks.borders.size() == 2 * blocks.sizes.size();
    const int64_t border = known ? BorderOf(blocks, i) : kUnknownDim;
    dims[i + 1] = DivDims(AddDims(dims[i + 1], border), blocks.sizes[i]);
    dims[0] = blocks.sizes[i] > 0 ? MulDims(dims[0], blocks.sizes[i]) : kUnknownDim;
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status FromBatch(InferenceContext& c, const Blocks& blocks) {
  if (!c.input(0).has_rank() || c.rank(0) <= static_cast<int>(blocks.sizes.size())) return absl::OkStatus();
  Dims dims = DimsOf(c.input(0));
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    const bool known = blocks.borders.size() == 2 * blocks.sizes.size();
    const int64_t border = known ? BorderOf(blocks, i) : kUnknownDim;
    dims[i + 1] = blocks.sizes[i] > 0 ? SubDims(MulDims(dims[i + 1], blocks.sizes[i]), border) : kUnknownDim;
    dims[0] = DivDims(dims[0], blocks.sizes[i]);
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

// Blocks in input 1, borders in input 2.
bool ReadBlocks(InferenceContext& c, Blocks* blocks) {
  const ShapeValue* sizes = c.value(1);
  if (sizes == nullptr) {
    if (c.input(0).has_rank()) c.Set(0, PartialShape::OfRank(c.rank(0)));
    return false;
  }
  blocks->sizes = sizes->elements;
  blocks->borders = c.const_matrix(2);
  return true;
}

absl::Status SpaceToBatchNd(InferenceContext& c) {
  Blocks blocks;
  return ReadBlocks(c, &blocks) ? ToBatch(c, blocks) : absl::OkStatus();
}

absl::Status BatchToSpaceNd(InferenceContext& c) {
  Blocks blocks;
  return ReadBlocks(c, &blocks) ? FromBatch(c, blocks) : absl::OkStatus();
}

// The older ops: images only, one block size for both dimensions, borders in input 1.
Blocks ImageBlocks(const InferenceContext& c) {
  const int64_t block = c.Int("block_size");
  return {{block, block}, c.const_matrix(1)};
}

absl::Status SpaceToBatch(InferenceContext& c) { return ToBatch(c, ImageBlocks(c)); }
absl::Status BatchToSpace(InferenceContext& c) { return FromBatch(c, ImageBlocks(c)); }

constexpr ShapeRow kRows[] = {
    {"BatchToSpace", &BatchToSpace}, {"BatchToSpaceND", &BatchToSpaceNd}, {"DepthToSpace", &DepthToSpace},
    {"SpaceToBatch", &SpaceToBatch}, {"SpaceToBatchND", &SpaceToBatchNd}, {"SpaceToDepth", &SpaceToDepth},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> BlocksRows() { return kRows; }

}  // namespace sluice
