// CombinedNonMaxSuppression: each class of each image by itself, then the best of all classes. Ties are broken as in
// TensorFlow, by the steps of its heap and its sort (kernels/array/tolerant_sort.h).

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/array/tolerant_sort.h"
#include "kernels/image/box_suppressor.h"
#include "kernels/image/families.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/temp_array.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for a box of a class, comparisons included.
constexpr double kBoxNs = 50;

struct Candidate {
  int32_t box;
  float score;
};
// A box that its class has kept. `box` is -1 in places that no box has taken.
struct Result {
  int32_t box;
  int32_t class_index;
  float score;
};

// One call.
struct CombinedCall {
  int64_t batch, num_boxes, num_box_classes, num_classes;
  int64_t per_class;  // Boxes that a class keeps.
  int64_t per_image;  // Places of an image in the outputs.
  float overlap_threshold, score_threshold;
  const float* boxes;   // [batch, num_boxes, num_box_classes, 4]
  const float* scores;  // [batch, num_boxes, num_classes]

  // The corners of a box of class `c`.
  const float* box(int64_t image, int64_t i, int64_t c) const {
    return boxes + ((image * num_boxes + i) * num_box_classes + (num_box_classes > 1 ? c : 0)) * 4;
  }
  float score(int64_t image, int64_t i, int64_t c) const { return scores[(image * num_boxes + i) * num_classes + c]; }
};

// Places of an image before the best are chosen: per_class for each class.
absl::StatusOr<TempArray<Result>> MakeResults(KernelContext& context, const CombinedCall& call) {
  int64_t results = 0;
  if (!CheckedMul(call.per_class, call.num_classes, &results)) return Error(ErrorCode::kOpTooLarge).Input(1, "scores");
  return TempArray<Result>::Make(context, results);
}

// Bytes that SuppressClass needs: a heap, and the boxes that were kept.
int64_t ClassBytes(const CombinedCall& call) {
  return call.num_boxes * static_cast<int64_t>(sizeof(Candidate)) +
         call.per_class * KeptBoxes::kFloatsPerBox * static_cast<int64_t>(sizeof(float));
}

// Fills the places of class `c`.
void SuppressClass(const CombinedCall& call, int64_t image, int64_t c, void* memory, Result* results) {
  const auto is_worse = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
  Candidate* const heap = static_cast<Candidate*>(memory);
  size_t size = 0;
  for (int64_t i = 0; i < call.num_boxes; ++i) {
    const float score = call.score(image, i, c);
    if (!(score > call.score_threshold)) continue;
    heap[size++] = {static_cast<int32_t>(i), score};
    TolerantPushHeap(absl::MakeSpan(heap, size), is_worse);
  }
  KeptBoxes kept(reinterpret_cast<float*>(heap + call.num_boxes), call.per_class);
  while (size > 0 && kept.size() < call.per_class) {
    TolerantPopHeap(absl::MakeSpan(heap, size), is_worse);
    const Candidate next = heap[--size];
    const OrderedBox box = OrderedBox::Of(call.box(image, next.box, c));
    if (kept.AnyOverlaps(box, call.overlap_threshold, 0)) continue;
    results[kept.size()] = {next.box, static_cast<int32_t>(c), next.score};
    kept.Add(box);
  }
  std::fill(results + kept.size(), results + call.per_class, Result{-1, 0, std::numeric_limits<float>::lowest()});
}

// The four outputs.
struct Outputs {
  float* boxes;
  float* scores;
  float* classes;
  int32_t* counts;
};

// Writes the best boxes of all classes, then zeros up to the output's size.
void SelectBest(const CombinedCall& call, int64_t image, bool clip, absl::Span<Result> results,
                const Outputs& outputs) {
  TolerantSort(results, [](const Result& a, const Result& b) { return a.score > b.score; });
  float* const boxes = outputs.boxes + image * call.per_image * 4;
  float* const scores = outputs.scores + image * call.per_image;
  float* const classes = outputs.classes + image * call.per_image;
  int64_t count = 0;
  for (size_t i = 0; i < results.size() && count < call.per_image; ++i) {
    const Result& result = results[i];
    if (result.box < 0) continue;
    const float* const corners = call.box(image, result.box, result.class_index);
    for (int k = 0; k < 4; ++k) {
      boxes[4 * count + k] = clip ? std::max(std::min(corners[k], 1.0f), 0.0f) : corners[k];
    }
    scores[count] = result.score;
    classes[count++] = static_cast<float>(result.class_index);
  }
  outputs.counts[image] = static_cast<int32_t>(count);
  std::fill(boxes + 4 * count, boxes + 4 * call.per_image, 0.0f);
  std::fill(scores + count, scores + call.per_image, 0.0f);
  std::fill(classes + count, classes + call.per_image, 0.0f);
}

// --- Inputs --------------------------------------------------------------------------------------------------------

absl::Status CheckBoxesAndScores(const Tensor& boxes, const Tensor& scores) {
  if (boxes.rank() != 4 || boxes.dim(3) != 4) {
    return ShapeError(0, "boxes", boxes.shape(), "[batch, boxes, 1 or classes, 4]");
  }
  if (scores.rank() != 3) return ShapeError(1, "scores", scores.shape(), "3 dimensions");
  const bool fit = boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(1) &&
                   (boxes.dim(2) == 1 || boxes.dim(2) == scores.dim(2));
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (fit && boxes.dim(1) <= kMax && scores.dim(2) <= kMax) return absl::OkStatus();
  return ShapesError(absl::StrCat(boxes.shape().ToString(), " and ", scores.shape().ToString()),
                     "[batch, boxes, 1 or classes, 4] and [batch, boxes, classes]");
}

absl::StatusOr<int64_t> ReadPositive(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, input, name));
  const int64_t value = context.input(input).flat<int32_t>()[0];
  if (value > 0) return value;
  return ValueError(input, name, value, "1 or more");
}

// Reads one call and writes its four outputs.
class CombinedNonMaxSuppressionKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool pad_per_class, construction.Get<bool>("pad_per_class"));
    SLUICE_ASSIGN_OR_RETURN(const bool clip_boxes, construction.Get<bool>("clip_boxes"));
    return std::make_unique<CombinedNonMaxSuppressionKernel>(pad_per_class, clip_boxes);
  }
  CombinedNonMaxSuppressionKernel(bool pad_per_class, bool clip_boxes)
      : pad_per_class_(pad_per_class), clip_boxes_(clip_boxes) {}

  absl::Status Compute(KernelContext& context) const override {
    CombinedCall call;
    SLUICE_RETURN_IF_ERROR(ReadCall(context, &call));
    SLUICE_ASSIGN_OR_RETURN(const Outputs outputs, AllocateOutputs(context, call));
    if (call.batch == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(TempArray<Result> memory, MakeResults(context, call));
    const absl::Span<Result> results = absl::MakeSpan(memory.data(), static_cast<size_t>(memory.size()));
    const int64_t num_classes = results.empty() ? 0 : call.num_classes;
    const Workers workers(context.run());
    SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch,
                            WorkerScratch::Make(workers, num_classes, ClassBytes(call), &scratch_));
    const double class_ns = kBoxNs * static_cast<double>(call.num_boxes);
    for (int64_t image = 0; image < call.batch; ++image) {
      SLUICE_RETURN_IF_ERROR(workers.ForEachShard(num_classes, class_ns, [&](int64_t c, int worker) -> absl::Status {
        SuppressClass(call, image, c, scratch.of(worker), results.data() + c * call.per_class);
        return absl::OkStatus();
      }));
      SelectBest(call, image, clip_boxes_, results, outputs);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ReadCall(const KernelContext& context, CombinedCall* call) const {
    const Tensor &boxes = context.input(0), &scores = context.input(1);
    SLUICE_ASSIGN_OR_RETURN(const int64_t per_class, ReadPositive(context, 2, "max_output_size_per_class"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t total, ReadPositive(context, 3, "max_total_size"));
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 4, "iou_threshold"));
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 5, "score_threshold"));
    call->overlap_threshold = context.input(4).flat<float>()[0];
    call->score_threshold = context.input(5).flat<float>()[0];
    if (!(call->overlap_threshold >= 0 && call->overlap_threshold <= 1)) {
      return ValueError(4, "iou_threshold", call->overlap_threshold, "0 to 1");
    }
    SLUICE_RETURN_IF_ERROR(CheckBoxesAndScores(boxes, scores));
    call->batch = boxes.dim(0);
    call->num_boxes = boxes.dim(1);
    call->num_box_classes = boxes.dim(2);
    call->num_classes = scores.dim(2);
    call->per_class = std::min(per_class, call->num_boxes);
    call->per_image = pad_per_class_ ? std::min(total, per_class * call->num_classes) : total;
    call->boxes = boxes.flat<float>().data();
    call->scores = scores.flat<float>().data();
    return absl::OkStatus();
  }

  static absl::StatusOr<Outputs> AllocateOutputs(KernelContext& context, const CombinedCall& call) {
    SLUICE_ASSIGN_OR_RETURN(const Shape boxes_shape, MakeShape({call.batch, call.per_image, 4}));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({call.batch, call.per_image}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const boxes, context.AllocateOutput(0, boxes_shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const scores, context.AllocateOutput(1, shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const classes, context.AllocateOutput(2, shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const counts, context.AllocateOutput(3, Shape::Of({call.batch})));
    return Outputs{boxes->flat<float>().data(), scores->flat<float>().data(), classes->flat<float>().data(),
                   counts->flat<int32_t>().data()};
  }

  const bool pad_per_class_;
  const bool clip_boxes_;
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {KernelRow("CombinedNonMaxSuppression", &New<CombinedNonMaxSuppressionKernel>)};

}  // namespace

absl::Span<const KernelRow> CombinedNonMaxSuppressionKernels() { return kRows; }

}  // namespace sluice
