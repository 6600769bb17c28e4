#include "tests/kernels/optimizers/update_case.h"

#include <algorithm>
#include <cmath>

#include "graph/base/check.h"
#include "graph/ops/op_table.h"
#include "kernels/device/cpu_device.h"
#include "kernels/dispatch.h"
#include "tests/testing/kernel_runner.h"

namespace sluice {
namespace {

using Numbers = std::vector<Number>;

double SignOf(Number x) { return x.real() > 0 ? 1 : x.real() < 0 ? -1 : 0; }
Number Shrunk(Number x, double by) { return SignOf(x) * std::max(std::abs(x.real()) - by, 0.0); }

// Plain formulas, one by one as the papers have them.
std::vector<OptimizerCase> DescentCases() {
  // Kept whole: a table.
  return {
      {"GradientDescent",
       {},
       {{"alpha", 0.3}},
       "",
       true,
       true,
       false,
       true,
       true,
       [](Numbers& x, Number g, bool) { x[0] -= 0.3 * g; }},
      {"ProximalGradientDescent",
       {},
       {{"alpha", 0.3}, {"l1", 0.2}, {"l2", 0.1}},
       "",
       true,
       true,
       true,
       false,
       false,
       [](Numbers& x, Number g, bool) { x[0] = Shrunk(x[0] - 0.3 * g, 0.3 * 0.2) / (1 + 0.3 * 0.1); }},
      {"Momentum",
       {"accum"},
       {{"lr", 0.3}, {"momentum", 0.8}},
       "use_nesterov",
       true,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool nesterov) {
         x[1] = 0.8 * x[1] + g;
         x[0] -= 0.3 * (nesterov ? g + 0.8 * x[1] : x[1]);
       }},
      {"KerasMomentum",
       {"accum"},
       {{"lr", 0.3}, {"momentum", 0.8}},
       "use_nesterov",
       false,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool nesterov) {
         x[1] = 0.8 * x[1] - 0.3 * g;
         x[0] += nesterov ? 0.8 * x[1] - 0.3 * g : x[1];
       }},
      {"AddSign",
       {"m"},
       {{"lr", 0.3}, {"alpha", 1.5}, {"sign_decay", 0.75}, {"beta", 0.8}},
       "",
       true,
       true,
       false,
       true,
       false,
       [](Numbers& x, Number g, bool) {
         x[1] = 0.8 * x[1] + 0.2 * g;
         x[0] -= 0.3 * (1.5 + 0.75 * SignOf(g) * SignOf(x[1])) * g;
       }},
      {"PowerSign",
       {"m"},
       {{"lr", 0.3}, {"logbase", 0.5}, {"sign_decay", 0.75}, {"beta", 0.8}},
       "",
       true,
       true,
       false,
       true,
       false,
       [](Numbers& x, Number g, bool) {
         x[1] = 0.8 * x[1] + 0.2 * g;
         x[0] -= 0.3 * std::exp(0.5 * 0.75 * SignOf(g) * SignOf(x[1])) * g;
       }},
  };
}

std::vector<OptimizerCase> AdagradCases() {
  // Kept whole: a table.
  return {
      {"Adagrad",
       {"accum"},
       {{"lr", 0.3}},
       "update_slots",
       true,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool update) {
         if (update) x[1] += g * g;
         x[0] -= 0.3 * g / std::sqrt(x[1]);
       }},
      {"AdagradV2",
       {"accum"},
       {{"lr", 0.3}, {"epsilon", 0.01}},
       "update_slots",
       true,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool update) {
         if (update) x[1] += g * g;
         x[0] -= 0.3 * g / (std::sqrt(x[1]) + 0.01);
       }},
      {"AdagradDA",
       {"gradient_accumulator", "gradient_squared_accumulator"},
       {{"lr", 0.3}, {"l1", 0.05}, {"l2", 0.1}, {"global_step", 3}},
       "",
       true,
       true,
       true,
       false,
       false,
       [](Numbers& x, Number g, bool) {
         x[1] += g;
         x[2] += g * g;
         x[0] = -0.3 * Shrunk(x[1], 3 * 0.05) / (3 * 0.1 * 0.3 + std::sqrt(x[2]));
       }},
      {"ProximalAdagrad",
       {"accum"},
       {{"lr", 0.3}, {"l1", 0.05}, {"l2", 0.1}},
       "",
       true,
       true,
       true,
       false,
       false,
       [](Numbers& x, Number g, bool) {
         x[1] += g * g;
         const double rate = 0.3 / std::sqrt(x[1].real());
         x[0] = Shrunk(x[0] - rate * g, rate * 0.05) / (1 + rate * 0.1);
       }},
      {"Adadelta",
       {"accum", "accum_update"},
       {{"lr", 0.3}, {"rho", 0.8}, {"epsilon", 0.01}},
       "",
       true,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool) {
         x[1] = 0.8 * x[1] + 0.2 * g * g;
         const Number update = std::sqrt(x[2] + 0.01) / std::sqrt(x[1] + 0.01) * g;
         x[2] = 0.8 * x[2] + 0.2 * update * update;
         x[0] -= 0.3 * update;
       }},
  };
}

std::vector<OptimizerCase> AdamCases() {
  // Kept whole: a table.
  const std::vector<std::pair<std::string, double>> adam = {
      {"beta1_power", 0.8}, {"beta2_power", 0.9}, {"lr", 0.3}, {"beta1", 0.8}, {"beta2", 0.9}, {"epsilon", 0.01}};
  const std::vector<std::pair<std::string, double>> rms = {
      {"lr", 0.3}, {"rho", 0.8}, {"momentum", 0.7}, {"epsilon", 0.01}};
  const double alpha = 0.3 * std::sqrt(1 - 0.9) / (1 - 0.8);
  return {
      {"Adam",
       {"m", "v"},
       adam,
       "use_nesterov",
       true,
       true,
       false,
       true,
       true,
       [alpha](Numbers& x, Number g, bool nesterov) {
         x[1] = 0.8 * x[1] + 0.2 * g;
         x[2] = 0.9 * x[2] + 0.1 * g * g;
         x[0] -= alpha * (nesterov ? 0.8 * x[1] + 0.2 * g : x[1]) / (std::sqrt(x[2]) + 0.01);
       }},
      {"AdamWithAmsgrad",
       {"m", "v", "vhat"},
       adam,
       "",
       false,
       true,
       false,
       true,
       false,
       [alpha](Numbers& x, Number g, bool) {
         x[1] = 0.8 * x[1] + 0.2 * g;
         x[2] = 0.9 * x[2] + 0.1 * g * g;
         x[3] = std::max(x[3].real(), x[2].real());
         x[0] -= alpha * x[1] / (std::sqrt(x[3]) + 0.01);
       }},
      {"AdaMax",
       {"m", "v"},
       {{"beta1_power", 0.8}, {"lr", 0.3}, {"beta1", 0.8}, {"beta2", 0.9}, {"epsilon", 0.01}},
       "",
       true,
       true,
       false,
       true,
       false,
       [](Numbers& x, Number g, bool) {
         x[1] = 0.8 * x[1] + 0.2 * g;
         x[2] = std::max(0.9 * x[2].real(), std::abs(g.real()));
         x[0] -= 0.3 / (1 - 0.8) * x[1] / (x[2] + 0.01);
       }},
      {"RMSProp",
       {"ms", "mom"},
       rms,
       "",
       true,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool) {
         x[1] = 0.8 * x[1] + 0.2 * g * g;
         x[2] = 0.7 * x[2] + 0.3 * g / std::sqrt(x[1] + 0.01);
         x[0] -= x[2];
       }},
      {"CenteredRMSProp",
       {"mg", "ms", "mom"},
       rms,
       "",
       true,
       true,
       true,
       true,
       true,
       [](Numbers& x, Number g, bool) {
         x[2] = 0.8 * x[2] + 0.2 * g * g;
         x[1] = 0.8 * x[1] + 0.2 * g;
         x[3] = 0.7 * x[3] + 0.3 * g / std::sqrt(x[2] - x[1] * x[1] + 0.01);
         x[0] -= x[3];
       }},
  };
}

std::function<void(Numbers&, Number, bool)> Ftrl(double shrinkage, double power) {
  return [=](Numbers& x, Number g, bool multiply) {
    const Number sum = x[1] + g * g;
    const Number growth = (std::pow(sum, -power) - std::pow(x[1], -power)) / 0.3;
    // By the equation where lr divides; multiplied, `linear` and l1 are lr times as much.
    const double scale = multiply ? 0.3 : 1;
    x[2] += scale * (g + 2 * shrinkage * x[0] - growth * x[0]);
    const double z = x[2].real(), l1 = scale * 0.1;
    x[0] = (std::min(std::max(z, -l1), l1) - z) / (scale * (std::pow(sum, -power) / 0.3 + 2 * 0.05));
    x[1] = sum;
  };
}

std::vector<OptimizerCase> FtrlCases() {
  const std::vector<std::string> slots = {"accum", "linear"};
  const auto scalars = [](double power) {
    return std::vector<std::pair<std::string, double>>{{"lr", 0.3}, {"l1", 0.1}, {"l2", 0.05}, {"lr_power", power}};
  };
  auto with_shrinkage = scalars(-0.5);
  with_shrinkage.emplace_back("l2_shrinkage", 0.02);
  const std::string flag = "multiply_linear_by_lr";
  return {
      {"Ftrl", slots, scalars(-0.5), flag, true, true, true, true, false, Ftrl(0, -0.5)},
      {"Ftrl", slots, scalars(-0.7), flag, true, true, true, true, false, Ftrl(0, -0.7)},
      {"FtrlV2", slots, with_shrinkage, flag, true, true, true, true, false, Ftrl(0.02, -0.5)},
  };
}

}  // namespace

const std::vector<OptimizerCase>& AllOptimizers() {
  static const std::vector<OptimizerCase>& all = *new std::vector<OptimizerCase>([] {
    std::vector<OptimizerCase> joined;
    for (const auto& part : {DescentCases(), AdagradCases(), AdamCases(), FtrlCases()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }());
  return all;
}

void UpdateRunner::AddSlot(Tensor value) {
  if (is_ref_) {
    variables_.push_back(MakeCounted<RefVariable>(dtype_));
  } else {
    variables_.push_back(MakeCounted<Variable>(dtype_));
  }
  RefCell& cell = variables_.back()->cell();
  MutexLock lock(&cell.mu);
  cell.tensor = std::move(value);
}

absl::Status UpdateRunner::Run() {
  const std::shared_ptr<const OpRegistry> ops = NewOpRegistry();
  const OpSchema* const schema = ops->Find(op_);
  if (schema == nullptr) return absl::NotFoundError(op_);
  PreparedKernel::Attrs attrs = {{"T", dtype_}};
  for (const auto& [name, value] : flags_) attrs.emplace_back(name, value);
  std::vector<DType> types;
  std::vector<KernelInput> inputs;
  for (const ArgSpec& arg : schema->inputs) {
    if (inputs.size() < variables_.size()) {
      types.push_back(is_ref_ ? RefType(dtype_) : DType::kResource);
      if (is_ref_) {
        inputs.emplace_back(&variables_[inputs.size()]->cell());
        continue;
      }
      ResourceHandleData data;
      data.resource = variables_[inputs.size()];
      inputs.emplace_back(Tensor::Of<ResourceHandle>(Shape(), {ResourceHandle::Make(std::move(data))}));
      continue;
    }
    const std::string name = arg.name == "delta" ? "grad" : arg.name;
    const auto found = std::find_if(inputs_.rbegin(), inputs_.rend(), [&](const auto& i) { return i.first == name; });
    if (found == inputs_.rend()) return absl::NotFoundError(name);
    types.push_back(found->second.dtype());
    inputs.emplace_back(found->second);
  }
  CpuDevice device("/job:localhost/replica:0/task:0/device:CPU:0", 1);
  const auto kernel = PreparedKernel::Make(op_, attrs, types, &device);
  if (!kernel.ok()) return kernel.status();
  RunContext run = run_;
  run.device = &device;
  return (*kernel)->Run(run, std::move(inputs), /*movable=*/false).status();
}

Tensor TensorOf(DType dtype, const Shape& shape, const std::vector<Number>& values) {
  Tensor tensor = Tensor::Make(dtype, shape).value();
  SLUICE_CHECK(tensor.num_elements() == static_cast<int64_t>(values.size()));
  DispatchDType<Join<Join<FloatCppTypes, ComplexCppTypes>, IndexCppTypes>>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, Number>) {
        tensor.flat<T>()[i] = T(values[i]);
      } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        tensor.flat<T>()[i] = T(static_cast<float>(values[i].real()));
      } else {
        tensor.flat<T>()[i] = static_cast<T>(values[i].real());
      }
    }
  });
  return tensor;
}

std::vector<Number> NumbersOf(const Tensor& tensor) {
  std::vector<Number> numbers;
  DispatchDType<Join<FloatCppTypes, ComplexCppTypes>>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (const T& value : tensor.flat<T>()) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        numbers.emplace_back(static_cast<float>(value));
      } else {
        numbers.emplace_back(value);
      }
    }
  });
  return numbers;
}

}  // namespace sluice
