#ifndef SLUICE_TESTS_KERNELS_OPTIMIZERS_UPDATE_CASE_H_
#define SLUICE_TESTS_KERNELS_OPTIMIZERS_UPDATE_CASE_H_

// The ops of kernels/optimizers as the tests see them: names, hyperparameters, and what each does to one element.

#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/resources/variable.h"
#include "kernels/run_context.h"

namespace sluice {

using Number = std::complex<double>;

// One optimizer. Constant data.
struct OptimizerCase {
  std::string name;                                     // After "Apply".
  std::vector<std::string> slots;                       // After the variable.
  std::vector<std::pair<std::string, double>> scalars;  // By name in the signature.
  std::string flag;                                     // Attr that changes the formula.
  bool has_ref, has_dense, has_sparse, has_half, has_complex;
  // x: the variable and its slots.
  std::function<void(std::vector<Number>& x, Number grad, bool flag)> step;
};

const std::vector<OptimizerCase>& AllOptimizers();

// One op on variables of its own.
class UpdateRunner {
 public:
  UpdateRunner(std::string op, DType dtype, bool is_ref) : op_(std::move(op)), dtype_(dtype), is_ref_(is_ref) {}

  // A variable per slot, in order; REQUIRES: elements of `dtype`.
  void AddSlot(Tensor value);
  RefCell& slot(size_t i) { return variables_[i]->cell(); }
  VariableResource& variable(size_t i) { return *variables_[i]; }
  // Scalars by name; "grad" and "delta" are one name.
  void Set(const std::string& name, Tensor value) { inputs_.emplace_back(name, std::move(value)); }
  void SetFlag(const std::string& name, bool value) { flags_.emplace_back(name, value); }
  RunContext& run() { return run_; }
  // One step of the op. What a later Set says counts.
  absl::Status Run();

 private:
  const std::string op_;
  const DType dtype_;
  const bool is_ref_;
  RunContext run_;
  std::vector<CountedPtr<VariableResource>> variables_;
  std::vector<std::pair<std::string, Tensor>> inputs_;
  std::vector<std::pair<std::string, bool>> flags_;
};

// `values` as a tensor of `dtype`, rounded.
Tensor TensorOf(DType dtype, const Shape& shape, const std::vector<Number>& values);
std::vector<Number> NumbersOf(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_OPTIMIZERS_UPDATE_CASE_H_
