// CTCLoss (Graves et al., "Connectionist temporal classification", 2006): the negative logarithm of the probability of
// all ways to emit the labels with blanks between them, and its gradient. Each sequence is one thread's.

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sequence/ctc_inputs.h"
#include "kernels/sequence/families.h"
#include "kernels/sequence/log_sum.h"
#include "kernels/temp_array.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for a sum of two logarithms.
constexpr double kSumNs = 40;
// Elements of a table, so that three of them can be counted in bytes.
constexpr int64_t kMaxTable = int64_t{1} << 48;

// Attrs.
struct CtcForm {
  bool collapses = false;  // Equal labels one after the other are one.
  bool merges = true;      // Equal classes one after the other are one label.
  bool ignores_long = false;

  static absl::StatusOr<CtcForm> Read(const KernelConstruction& construction) {
    CtcForm form;
    SLUICE_ASSIGN_OR_RETURN(form.collapses, construction.Get<bool>("preprocess_collapse_repeated"));
    SLUICE_ASSIGN_OR_RETURN(form.merges, construction.Get<bool>("ctc_merge_repeated"));
    SLUICE_ASSIGN_OR_RETURN(form.ignores_long, construction.Get<bool>("ignore_longer_outputs_than_inputs"));
    return form;
  }
};

// The labels of all sequences with blanks before, between and after them: those of sequence b are
// [begins[b], begins[b + 1]). One sequence has at least its blank.
struct Labels {
  TempArray<int32_t> classes;
  TempArray<int64_t> begins;
  TempArray<uint8_t> ignored;  // 1 if the sequence is too short for its labels as given.

  int64_t size(int64_t b) const { return begins[b + 1] - begins[b]; }
};

// --- Labels --------------------------------------------------------------------------------------------------------

absl::Status BadLabel(int64_t row, int64_t label, absl::string_view expected) {
  return ValueError(2, "labels_values", absl::StrCat(label, " in row ", row), expected);
}

// The labels are a sparse matrix in order.
absl::Status CheckIndices(const Tensor& indices, const Tensor& values, int64_t batch) {
  if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 || indices.dim(0) != values.dim(0)) {
    return ShapesError(absl::StrCat("labels_indices of ", indices.shape().ToString(), " and labels_values of ",
                                    values.shape().ToString()),
                       "[labels, 2] and [labels]");
  }
  const int64_t* const all = indices.flat<int64_t>().data();
  for (int64_t i = 0; i < values.dim(0); ++i) {
    const int64_t* const at = all + 2 * i;
    const bool is_inside = at[0] >= 0 && at[0] < batch && at[1] >= 0;
    const bool is_next = i == 0 || at[-2] < at[0] || (at[-2] == at[0] && at[-1] < at[1]);
    if (is_inside && is_next) continue;
    return ValueError(1, "labels_indices", absl::StrCat("[", at[0], ",", at[1], "] in row ", i),
                      absl::StrCat("ascending indices, of sequences 0 to ", batch - 1));
  }
  return absl::OkStatus();
}

// Appends the labels [begin, end) of a sequence, and blanks, to `out`; how many there are then.
absl::StatusOr<int64_t> AddLabels(const CtcForm& form, const int32_t* labels, int64_t begin, int64_t end,
                                  int64_t classes, int32_t* out) {
  const int32_t blank = static_cast<int32_t>(classes - 1);
  int64_t size = 0;
  bool has_ended = false;  // Blanks may fill up the end.
  out[size++] = blank;
  for (int64_t i = begin; i < end; ++i) {
    if (form.collapses && i > begin && labels[i] == labels[i - 1]) continue;
    if (labels[i] >= blank) {
      has_ended = true;
      continue;
    }
    if (labels[i] < 0) return BadLabel(i, labels[i], "0 or more");
    if (has_ended) return BadLabel(i, labels[i], "no label after a blank");
    out[size++] = labels[i];
    out[size++] = blank;
  }
  return size;
}

absl::StatusOr<Labels> ReadLabels(KernelContext& context, const CtcForm& form, const CtcInputs& inputs) {
  const Tensor &indices = context.input(1), &values = context.input(2);
  SLUICE_RETURN_IF_ERROR(CheckIndices(indices, values, inputs.batch));
  Labels labels;
  SLUICE_ASSIGN_OR_RETURN(labels.classes, TempArray<int32_t>::Make(context, 2 * values.dim(0) + inputs.batch));
  SLUICE_ASSIGN_OR_RETURN(labels.begins, TempArray<int64_t>::Make(context, inputs.batch + 1));
  const int64_t* const all = indices.flat<int64_t>().data();
  int64_t next = 0;
  SLUICE_ASSIGN_OR_RETURN(labels.ignored, TempArray<uint8_t>::Make(context, inputs.batch));
  labels.begins[0] = 0;
  for (int64_t b = 0; b < inputs.batch; ++b) {
    const int64_t first = next;
    while (next < values.dim(0) && all[2 * next] == b) ++next;
    if (first == next) {
      return Error(ErrorCode::kOpValue).Input(1, "labels_indices").Text(absl::StrCat("has no label for sequence ", b));
    }
    SLUICE_ASSIGN_OR_RETURN(const int64_t size, AddLabels(form, values.flat<int32_t>().data(), first, next,
                                                          inputs.classes, &labels.classes[labels.begins[b]]));
    labels.begins[b + 1] = labels.begins[b] + size;
    const int32_t length = inputs.lengths[static_cast<size_t>(b)];
    labels.ignored[b] = length == 0 || (form.ignores_long && next - first > length) ? 1 : 0;
    // As in TensorFlow, labels that collapse count, too.
    if (!form.ignores_long && next - first > length) {
      return Error(ErrorCode::kOpValue)
          .Input(3, "sequence_length")
          .Found(absl::StrCat(length, " steps for ", next - first, " labels of sequence ", b))
          .Expected("at least as many")
          .Help("Give more steps, or set ignore_longer_outputs_than_inputs.");
    }
  }
  return labels;
}

// --- One sequence --------------------------------------------------------------------------------------------------

// The sums of one sequence, of `steps` steps and `size` labels with blanks. Tables have a row for each step.
template <typename T>
struct Sequence {
  const CtcForm& form;
  const int32_t* labels;
  int64_t size;
  int64_t steps;
  int32_t blank;
  T* log_y;  // Logarithms of the labels' probabilities.
  T* alpha;
  T* beta;

  // The labels that a path may be at in step t: [first, end).
  int64_t first(int64_t t) const { return std::max<int64_t>(0, size - 2 * (steps - t)); }
  int64_t end(int64_t t) const { return std::min(size, 2 * (t + 1)); }
  bool may_stay(int64_t u) const { return form.merges || labels[u] == blank; }
  // From label u - 2 to u without the blank between them.
  bool may_skip(int64_t u) const { return u > 1 && labels[u] != blank && !(form.merges && labels[u] == labels[u - 2]); }

  void Forward() const {
    std::fill_n(alpha, steps * size, kLogZero<T>);
    for (int64_t u = 0; u < std::min<int64_t>(size, 2); ++u) alpha[u] = log_y[u];
    for (int64_t t = 1; t < steps; ++t) {
      const T* const before = alpha + (t - 1) * size;
      for (int64_t u = first(t); u < end(t); ++u) {
        T sum = may_stay(u) ? before[u] : kLogZero<T>;
        if (u > 0) sum = LogSum(sum, before[u - 1]);
        if (may_skip(u)) sum = LogSum(sum, before[u - 2]);
        alpha[t * size + u] = sum + log_y[t * size + u];
      }
    }
  }

  void Backward() const {
    std::fill_n(beta, steps * size, kLogZero<T>);
    for (int64_t u = std::max<int64_t>(0, size - 2); u < size; ++u) beta[(steps - 1) * size + u] = 0;
    for (int64_t t = steps - 1; t-- > 0;) {
      const T *const after = beta + (t + 1) * size, *const y = log_y + (t + 1) * size;
      for (int64_t u = first(t); u < end(t); ++u) {
        T sum = may_stay(u) ? after[u] + y[u] : kLogZero<T>;
        if (u + 1 < size) sum = LogSum(sum, after[u + 1] + y[u + 1]);
        if (u + 2 < size && may_skip(u + 2)) sum = LogSum(sum, after[u + 2] + y[u + 2]);
        beta[t * size + u] = sum;
      }
    }
  }
};

// One call.
template <typename T>
struct LossCall {
  const CtcForm& form;
  const CtcInputs& inputs;
  const Labels& labels;
  const T* scores;
  T* loss;
  T* grad;

  // Probabilities of the classes, into the gradient.
  void Softmax(int64_t b, int64_t steps) const {
    for (int64_t t = 0; t < inputs.time; ++t) {
      T* const y = grad + inputs.row(t, b);
      if (t >= steps) {
        std::fill_n(y, inputs.classes, T(0));
        continue;
      }
      const T* const x = scores + inputs.row(t, b);
      const T most = *std::max_element(x, x + inputs.classes);
      T sum = 0;
      for (int64_t c = 0; c < inputs.classes; ++c) sum += y[c] = std::exp(x[c] - most);
      for (int64_t c = 0; c < inputs.classes; ++c) y[c] /= sum;
    }
  }

  // `scratch`: three tables and a number for each class.
  void Run(int64_t b, T* scratch) const {
    const int64_t size = labels.size(b), steps = inputs.lengths[static_cast<size_t>(b)];
    loss[b] = 0;
    Softmax(b, labels.ignored[b] != 0 ? 0 : steps);
    if (labels.ignored[b] != 0) return;
    const int64_t table_size = size * steps;
    const Sequence<T> sequence{form,
                               labels.classes.data() + labels.begins[b],
                               size,
                               steps,
                               static_cast<int32_t>(inputs.classes - 1),
                               scratch,
                               scratch + table_size,
                               scratch + 2 * table_size};
    for (int64_t t = 0; t < steps; ++t) {
      const T* const y = grad + inputs.row(t, b);
      for (int64_t u = 0; u < size; ++u) sequence.log_y[t * size + u] = std::log(y[sequence.labels[u]]);
    }
    sequence.Forward();
    sequence.Backward();
    T log_p = kLogZero<T>;
    for (int64_t u = 0; u < size; ++u) log_p = LogSum(log_p, sequence.alpha[u] + sequence.beta[u]);
    loss[b] = -log_p;
    if (log_p != kLogZero<T>) Subtract(b, sequence, log_p, scratch + 3 * table_size);
  }

  // Takes from each class the part of the paths that emit it.
  void Subtract(int64_t b, const Sequence<T>& sequence, T log_p, T* sums) const {
    for (int64_t t = 0; t < sequence.steps; ++t) {
      for (int64_t u = 0; u < sequence.size; ++u) sums[sequence.labels[u]] = kLogZero<T>;
      for (int64_t u = 0; u < sequence.size; ++u) {
        T& sum = sums[sequence.labels[u]];
        sum = LogSum(sum, sequence.alpha[t * sequence.size + u] + sequence.beta[t * sequence.size + u]);
      }
      T* const y = grad + inputs.row(t, b);
      for (int64_t u = 0; u < sequence.size; ++u) {
        T& sum = sums[sequence.labels[u]];
        if (sum == kLogZero<T>) continue;
        y[sequence.labels[u]] -= std::exp(sum - log_p);
        sum = kLogZero<T>;  // Once for each class.
      }
    }
  }
};

// Losses of all sequences, and their gradients.
class CtcLossKernel final : public Kernel {
 public:
  explicit CtcLossKernel(const CtcForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CtcInputs inputs, ReadCtcInputs(context, 3, ErrorCode::kOpValue));
    for (const int32_t length : inputs.lengths) {
      if (length >= 0) continue;
      return ValueError(3, "sequence_length", length, "0 or more");
    }
    SLUICE_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(context, form_, inputs));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const loss, context.AllocateOutput(0, Shape::Of({inputs.batch})));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const grad, context.AllocateOutput(1, context.input(0).shape()));
    return loss->dtype() == DType::kFloat ? Run<float>(context, inputs, labels, loss, grad)
                                          : Run<double>(context, inputs, labels, loss, grad);
  }

 private:
  template <typename T>
  absl::Status Run(KernelContext& context, const CtcInputs& inputs, const Labels& labels, Tensor* loss,
                   Tensor* grad) const {
    const LossCall<T> call{
        form_, inputs, labels, context.input(0).flat<T>().data(), loss->flat<T>().data(), grad->flat<T>().data()};
    int64_t largest = 0;
    for (int64_t b = 0; b < inputs.batch; ++b) {
      int64_t table = 0;
      if (labels.ignored[b] != 0) continue;
      if (!CheckedMul(labels.size(b), inputs.lengths[static_cast<size_t>(b)], &table) || table > kMaxTable) {
        return Error(ErrorCode::kOpTooLarge).Input(2, "labels_values");
      }
      largest = std::max(largest, table);
    }
    const int64_t bytes = (3 * largest + inputs.classes) * static_cast<int64_t>(sizeof(T));
    const Workers workers(context.run());
    SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, inputs.batch, bytes, &scratch_));
    const double sequence_ns = kSumNs * 6 * static_cast<double>(largest);
    return workers.ForEachShard(inputs.batch, sequence_ns, [&](int64_t b, int worker) -> absl::Status {
      call.Run(b, static_cast<T*>(scratch.of(worker)));
      return absl::OkStatus();
    });
  }

  const CtcForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("CTCLoss", &NewWith<CtcLossKernel, &CtcForm::Read>).Types("T", {DType::kFloat, DType::kDouble}),
};

}  // namespace

absl::Span<const KernelRow> CtcLossKernels() { return kRows; }

}  // namespace sluice
