#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/strided_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// --- Batch -------------------------------------------------------------------------------------------------------

// Space cut into blocks: space position y of an axis is block position (y + shift) / block, at offset
// (y + shift) % block. Each combination of offsets is a batch of its own.
struct Blocks {
  IndexVector block;          // Size of a block, for each axis of space: axes 1 to block.size() of both tensors.
  IndexVector before, after;  // The amounts that are padded (space to batch) or cropped (batch to space).
  int64_t volume = 1;         // Elements of a block.
};

// Reads the paddings or crops of `input` and completes `blocks`, whose block sizes are set.
absl::Status ReadMargins(const KernelContext& context, int input, absl::string_view name, Blocks* blocks) {
  const Tensor& margins = context.input(input);
  const int64_t axes = static_cast<int64_t>(blocks->block.size());
  if (margins.rank() != 2 || margins.dim(0) != axes || margins.dim(1) != 2) {
    return ShapeError(input, name, margins.shape(), absl::StrCat("[", axes, ",2]"));
  }
  if (context.input(0).rank() <= axes) {
    return ShapeError(0, "", context.input(0).shape(), absl::StrCat("at least ", axes + 1, " dimensions"));
  }
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t block = blocks->block[static_cast<size_t>(i)];
    const int64_t before = IndexAt(margins, 2 * i);
    const int64_t after = IndexAt(margins, 2 * i + 1);
    if (block < 1) return ValueError(1, "block_shape", block, "sizes of 1 or more");
    if (before < 0 || after < 0) return ValueError(input, name, absl::StrCat(before, " and ", after), "0 or more");
    if (!CheckedMul(blocks->volume, block, &blocks->volume)) {
      return Error(ErrorCode::kOpTooLarge).Text("the product of the block sizes overflows");
    }
    blocks->before.push_back(before);
    blocks->after.push_back(after);
  }
  return absl::OkStatus();
}

// Copies what one combination of offsets shares: `offsets` of a block, batches from `first_batch` on.
void MoveOffset(const KernelContext& context, const Blocks& blocks, const IndexVector& offsets, int64_t number,
                bool to_batch, Tensor& to, const Tensor& from) {
  const Shape& space = to_batch ? from.shape() : to.shape();
  const Shape& batch = to_batch ? to.shape() : from.shape();
  const IndexVector in_space = RowMajorStrides(space);
  const IndexVector in_batch = RowMajorStrides(batch);
  int64_t space_at = 0;
  int64_t batch_at = number * space.dim(0) * in_batch[0];
  CopyAxes axes;
  const auto add = [&](int64_t size, int64_t space_step, int64_t batch_step) {
    axes.push_back(to_batch ? CopyAxis{size, batch_step, space_step} : CopyAxis{size, space_step, batch_step});
  };
  add(space.dim(0), in_space[0], in_batch[0]);
  for (size_t i = 0; i < blocks.block.size(); ++i) {
    const int64_t block = blocks.block[i];
    // Position y of space, y = o * block + shift, for block positions o.
    const int64_t shift = offsets[i] - blocks.before[i];
    const int64_t size = space.dims()[i + 1];
    const int64_t first = shift < 0 ? (-shift + block - 1) / block : 0;
    const int64_t end = size > shift ? (size - shift + block - 1) / block : 0;
    const int64_t last = std::min(end, batch.dims()[i + 1]);
    add(std::max<int64_t>(last - first, 0), block * in_space[i + 1], in_batch[i + 1]);
    space_at += (first * block + shift) * in_space[i + 1];
    batch_at += first * in_batch[i + 1];
  }
  const int done = static_cast<int>(blocks.block.size()) + 1;
  add(SizeOfAxes(space, done, space.rank()), 1, 1);
  CopyStrided(context, axes, to, to_batch ? batch_at : space_at, from, to_batch ? space_at : batch_at);
}

// Moves everything between space and batch.
void MoveBlocks(const KernelContext& context, const Blocks& blocks, bool to_batch, Tensor& to, const Tensor& from) {
  if (to.num_elements() == 0 || from.num_elements() == 0) return;
  IndexVector offsets(blocks.block.size(), 0);
  for (int64_t number = 0; number < blocks.volume; ++number) {
    MoveOffset(context, blocks, offsets, number, to_batch, to, from);
    for (size_t i = offsets.size(); i-- > 0;) {
      if (++offsets[i] < blocks.block[i]) break;
      offsets[i] = 0;
    }
  }
}

absl::Status ToBatch(KernelContext& context, const Blocks& blocks) {
  const Tensor& input = context.input(0);
  IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
  bool fits = CheckedMul(dims[0], blocks.volume, &dims[0]);
  for (size_t i = 0; fits && i < blocks.block.size(); ++i) {
    int64_t& size = dims[i + 1];
    fits = CheckedAdd(size, blocks.before[i], &size) && CheckedAdd(size, blocks.after[i], &size);
    if (fits && size % blocks.block[i] != 0) {
      return ShapeError(0, "", absl::StrCat("size ", size, " in dimension ", i + 1, " with paddings"),
                        absl::StrCat("a multiple of the block size ", blocks.block[i]));
    }
    size /= blocks.block[i];
  }
  if (!fits) return Error(ErrorCode::kOpTooLarge).Text("the padded sizes overflow");
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (IsTrivial(output->dtype())) std::memset(output->mutable_raw_data(), 0, output->total_bytes());
  MoveBlocks(context, blocks, /*to_batch=*/true, *output, input);
  return absl::OkStatus();
}

absl::Status ToSpace(KernelContext& context, const Blocks& blocks) {
  const Tensor& input = context.input(0);
  IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
  if (dims[0] % blocks.volume != 0) {
    return ShapeError(0, "", absl::StrCat("batch ", dims[0]),
                      absl::StrCat("a multiple of ", blocks.volume, ", the size of a block"));
  }
  dims[0] /= blocks.volume;
  for (size_t i = 0; i < blocks.block.size(); ++i) {
    int64_t& size = dims[i + 1];
    if (!CheckedMul(size, blocks.block[i], &size)) return Error(ErrorCode::kOpTooLarge).Text("the sizes overflow");
    if (blocks.before[i] > size || blocks.after[i] > size - blocks.before[i]) {
      return ValueError(context.num_inputs() - 1, "crops", absl::StrCat(blocks.before[i], " and ", blocks.after[i]),
                        absl::StrCat("at most ", size, " together"));
    }
    size -= blocks.before[i] + blocks.after[i];
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  MoveBlocks(context, blocks, /*to_batch=*/false, *output, input);
  return absl::OkStatus();
}

template <bool kToBatch>
absl::Status ComputeNd(KernelContext& context) {
  Blocks blocks;
  SLUICE_ASSIGN_OR_RETURN(blocks.block, ReadIndexVector(context, 1, "block_shape"));
  SLUICE_RETURN_IF_ERROR(ReadMargins(context, 2, kToBatch ? "paddings" : "crops", &blocks));
  return kToBatch ? ToBatch(context, blocks) : ToSpace(context, blocks);
}

// SpaceToBatch and BatchToSpace: images, and blocks that are squares.
template <bool kToBatch>
class SquareBlockKernel final : public Kernel {
 public:
  explicit SquareBlockKernel(int64_t block) : block_(block) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t block, construction.Get<int64_t>("block_size"));
    if (block < 2) return AttrError("block_size", block, "2 or more");
    return std::make_unique<SquareBlockKernel>(block);
  }
  absl::Status Compute(KernelContext& context) const override {
    if (context.input(0).rank() != 4) return ShapeError(0, "", context.input(0).shape(), "four dimensions");
    Blocks blocks;
    blocks.block = {block_, block_};
    SLUICE_RETURN_IF_ERROR(ReadMargins(context, 1, kToBatch ? "paddings" : "crops", &blocks));
    return kToBatch ? ToBatch(context, blocks) : ToSpace(context, blocks);
  }

 private:
  const int64_t block_;
};

// --- Depth -------------------------------------------------------------------------------------------------------

// SpaceToDepth and DepthToSpace: the places of a square block become channels, or channels become places.
template <bool kToDepth>
class DepthKernel final : public Kernel {
 public:
  DepthKernel(int64_t block, bool channels_first) : block_(block), channels_first_(channels_first) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t block, construction.Get<int64_t>("block_size"));
    SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.Get<std::string>("data_format"));
    if (format != "NHWC" && format != "NCHW") {
      return Error(ErrorCode::kOpUnimplemented).Attr("data_format").Found(format).Expected("NHWC or NCHW");
    }
    if (block < 2) return AttrError("block_size", block, "2 or more");
    return std::make_unique<DepthKernel>(block, format == "NCHW");
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const int height = channels_first_ ? 2 : 1;
    const int channel = channels_first_ ? 1 : 3;
    bool fits = input.rank() == 4;
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    if (fits) {
      int64_t& depth = dims[static_cast<size_t>(channel)];
      for (size_t axis = static_cast<size_t>(height); axis < static_cast<size_t>(height) + 2; ++axis) {
        int64_t& grows = kToDepth ? depth : dims[axis];
        int64_t& shrinks = kToDepth ? dims[axis] : depth;
        fits = fits && shrinks % block_ == 0 && CheckedMul(grows, block_, &grows);
        shrinks /= block_;
      }
    }
    if (!fits) {
      return ShapeError(0, "", input.shape(), absl::StrCat("four dimensions that divide by blocks of ", block_));
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    CopyStrided(context, Loops(kToDepth ? input.shape() : shape, kToDepth ? shape : input.shape()), *output, 0, input,
                0);
    return absl::OkStatus();
  }

 private:
  // Loops over batch, blocks, places in a block and channels of a tensor `space` and its twin `deep`.
  CopyAxes Loops(const Shape& space, const Shape& deep) const {
    const IndexVector s = RowMajorStrides(space);
    const IndexVector d = RowMajorStrides(deep);
    const size_t h = channels_first_ ? 2 : 1;
    const size_t c = channels_first_ ? 1 : 3;
    const int64_t channels = space.dims()[c];
    CopyAxes axes;
    const auto add = [&](int64_t size, int64_t space_step, int64_t deep_step) {
      axes.push_back(kToDepth ? CopyAxis{size, deep_step, space_step} : CopyAxis{size, space_step, deep_step});
    };
    add(space.dim(0), s[0], d[0]);
    add(deep.dims()[h], block_ * s[h], d[h]);
    add(deep.dims()[h + 1], block_ * s[h + 1], d[h + 1]);
    add(block_, s[h], block_ * channels * d[c]);
    add(block_, s[h + 1], channels * d[c]);
    add(channels, s[c], d[c]);
    return axes;
  }

  const int64_t block_;
  const bool channels_first_;
};

constexpr KernelRow kRows[] = {
    KernelRow("SpaceToBatchND", &Call<ComputeNd<true>>),      KernelRow("BatchToSpaceND", &Call<ComputeNd<false>>),
    KernelRow("SpaceToBatch", &New<SquareBlockKernel<true>>), KernelRow("BatchToSpace", &New<SquareBlockKernel<false>>),
    KernelRow("SpaceToDepth", &New<DepthKernel<true>>),       KernelRow("DepthToSpace", &New<DepthKernel<false>>),
};

}  // namespace

absl::Span<const KernelRow> BlockKernels() { return kRows; }

}  // namespace sluice
