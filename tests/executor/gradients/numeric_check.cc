#include "tests/executor/gradients/numeric_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

bool IsNumber(DType type) { return IsDifferentiable(type) && type != DType::kResource && type != DType::kVariant; }

// The real numbers that a tensor holds: complex ones are two each.
std::vector<double> Reals(const Tensor& tensor) {
  const int64_t size = tensor.num_elements();
  std::vector<double> reals;
  for (int64_t i = 0; i < size; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (tensor.dtype() == DType::kComplex128) {
      const std::complex<double> value = tensor.flat<std::complex<double>>()[at];
      reals.push_back(value.real());
      reals.push_back(value.imag());
    } else {
      reals.push_back(tensor.flat<double>()[at]);
    }
  }
  return reals;
}

Tensor FromReals(DType type, const Shape& shape, const std::vector<double>& reals) {
  if (type != DType::kComplex128) return Tensor::Of<double>(shape, reals);
  std::vector<std::complex<double>> values;
  for (size_t i = 0; i < reals.size(); i += 2) values.emplace_back(reals[i], reals[i + 1]);
  return Tensor::Of<std::complex<double>>(shape, values);
}

// A copy with real number `i` moved by `step`.
Tensor Moved(const Tensor& tensor, size_t i, double step) {
  std::vector<double> reals = Reals(tensor);
  reals[i] += step;
  return FromReals(tensor.dtype(), tensor.shape(), reals);
}

Tensor RandomLike(DType type, const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> reals(static_cast<size_t>(shape.num_elements()) * (type == DType::kComplex128 ? 2 : 1));
  for (double& real : reals) real = 0.25 + random() / 4294967296.0;
  return FromReals(type, shape, reals);
}

// What can be moved: a feed, and the output whose gradient belongs to it.
struct Input {
  std::string feed;
  Tensor value;
  Output x;
};

// A weighted sum of outputs, and its gradients by all inputs that there were then: unset ones are zero.
struct Order {
  std::vector<Output> ys;
  std::vector<Tensor> weights;
  std::vector<Output> gradients;
};

class NumericCheck {
 public:
  NumericCheck(const RowCase& row_case, KnownBefore known)
      : case_(row_case), is_known_(known == KnownBefore::kAll), b_(NewOpRegistry()) {}

  absl::StatusOr<std::vector<double>> Run() {
    AddForward();
    std::vector<Order> orders;
    std::vector<Output> ys = ys_;
    while (static_cast<int>(orders.size()) < case_.orders && !ys.empty()) {
      SLUICE_RETURN_IF_ERROR(b_.status());
      Order order;
      order.ys = std::exchange(ys, {});
      SLUICE_RETURN_IF_ERROR(AddGradientsOf(orders.size(), order));
      for (const Output& gradient : order.gradients) {
        if (gradient.is_set()) ys.push_back(gradient);
      }
      orders.push_back(std::move(order));
    }
    SLUICE_RETURN_IF_ERROR(b_.status());
    SLUICE_RETURN_IF_ERROR(Open());
    std::vector<double> errors;
    for (const Order& order : orders) {
      SLUICE_ASSIGN_OR_RETURN(const double error, WorstError(order));
      errors.push_back(error);
    }
    return errors;
  }

 private:
  // A value that is fed.
  Output Fed(const std::string& name, const Tensor& value) {
    feeds_.emplace_back(name, value);
    return b_.Placeholder(name, value.dtype(), is_known_ ? PartialShape::From(value.shape()) : PartialShape());
  }

  Output InFloat(Output value, const std::string& name) {
    if (!case_.in_float) return value;
    const DType type = b_.graph().output_type(value.node, value.index);
    if (type != DType::kDouble && type != DType::kComplex128) return value;
    return b_.Op("Cast", name, {value}, {{"DstT", type == DType::kDouble ? DType::kFloat : DType::kComplex64}});
  }

  Output AddOperand(const RowArg& arg, const std::string& name) {
    if (arg.kind == RowArg::Kind::kConstant) {
      return InFloat(is_known_ ? b_.Const(name, arg.value) : Fed(name, arg.value), name + "/float");
    }
    const Output x = Fed(name, arg.value);
    if (arg.kind == RowArg::Kind::kVariable) {
      inputs_.push_back({name, arg.value, x});
      return InFloat(x, name + "/float");
    }
    const PartialShape shape = is_known_ ? PartialShape::From(arg.value.shape()) : PartialShape();
    const Output handle = b_.Op("VarHandleOp", name + "/handle", {},
                                {{"dtype", arg.value.dtype()}, {"shape", shape}, {"shared_name", name}});
    b_.Op("AssignVariableOp", name + "/assign", {handle, x});
    assigns_.push_back(name + "/assign");
    inputs_.push_back({name, arg.value, handle});
    return handle;
  }

  void AddForward() {
    if (case_.graph_version > 0) b_.graph().versions().producer = case_.graph_version;
    std::vector<Output> operands;
    for (size_t i = 0; i < case_.args.size(); ++i) operands.push_back(AddOperand(case_.args[i], absl::StrCat("x", i)));
    const Output y = b_.Op(case_.op(), "y", operands, case_.attrs);
    if (!b_.status().ok()) return;
    std::vector<int> outputs = case_.outputs;
    for (int i = 0; outputs.empty() && i < b_.graph().num_outputs(y.node); ++i) {
      if (IsNumber(b_.graph().output_type(y.node, i))) outputs.push_back(i);
    }
    for (const int i : outputs) {
      const DType type = b_.graph().output_type(y.node, i);
      Output value = GraphBuilder::Nth(y, i);
      if (type == DType::kFloat) value = b_.Op("Cast", "", {value}, {{"DstT", DType::kDouble}});
      if (type == DType::kComplex64) value = b_.Op("Cast", "", {value}, {{"DstT", DType::kComplex128}});
      ys_.push_back(value);
    }
  }

  absl::Status Open() {
    SessionOptions options;
    options.num_threads = 1;
    SLUICE_ASSIGN_OR_RETURN(session_, Session::Create(options, b_.graph()));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Tensor>> Fetch(const NamedTensors& feeds, const std::vector<Output>& outputs) {
    if (!assigns_.empty()) SLUICE_RETURN_IF_ERROR(session_->Run(feeds, {}, assigns_).status());
    std::vector<std::string> names;
    for (const Output& output : outputs) names.push_back(b_.graph().OutputName(output));
    return session_->Run(feeds, names, {});
  }

  // Weighs the outputs, and adds the gradients by all inputs so far; only the second order may lack some. The weights
  // become inputs of the next order.
  absl::Status AddGradientsOf(size_t number, Order& order) {
    SLUICE_RETURN_IF_ERROR(Open());
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> ys, Fetch(feeds_, order.ys));
    GradientOptions options;
    std::vector<Input> weights;
    for (size_t i = 0; i < ys.size(); ++i) {
      const std::string name = absl::StrCat("w", number, "_", i);
      order.weights.push_back(RandomLike(ys[i].dtype(), ys[i].shape(), static_cast<uint32_t>(100 * number + i + 7)));
      options.grad_ys.push_back(Fed(name, order.weights.back()));
      weights.push_back({name, order.weights.back(), options.grad_ys.back()});
    }
    std::vector<Output> xs;
    for (const Input& input : inputs_) xs.push_back(input.x);
    SLUICE_ASSIGN_OR_RETURN(const GradientResult result, AddGradients(b_.graph(), order.ys, xs, options));
    for (size_t i = 0; i < xs.size(); ++i) {
      order.gradients.push_back(kNoOutput);
      if (!result.xs[i].is_set()) {
        if (number == 0) return absl::InternalError(absl::StrCat("no gradient of ", inputs_[i].feed));
        continue;
      }
      const std::string name = absl::StrCat("g", number, "_", inputs_[i].feed);
      SLUICE_ASSIGN_OR_RETURN(const Output dense, DenseGradient(b_.graph(), xs[i], result.xs[i], name));
      order.gradients.back() = b_.Op("Identity", absl::StrCat(name, "_value"), {dense});
    }
    for (Input& weight : weights) inputs_.push_back(std::move(weight));
    return absl::OkStatus();
  }

  absl::StatusOr<double> Value(const Order& order, const NamedTensors& feeds) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> ys, Fetch(feeds, order.ys));
    double value = 0;
    for (size_t i = 0; i < ys.size(); ++i) {
      const std::vector<double> y = Reals(ys[i]), weights = Reals(order.weights[i]);
      for (size_t j = 0; j < y.size(); ++j) value += y[j] * weights[j];
    }
    return value;
  }

  // The derivative of the loss by one real number, from four points around it.
  absl::StatusOr<double> Derivative(const Order& order, const Input& input, size_t i) {
    const double step = case_.in_float ? 1e-2 : 2e-4;
    const auto at = [&](double moved_by) {
      NamedTensors feeds = feeds_;
      for (auto& [name, value] : feeds) {
        if (name == input.feed) value = Moved(input.value, i, moved_by);
      }
      return Value(order, feeds);
    };
    SLUICE_ASSIGN_OR_RETURN(const double far_below, at(-2 * step));
    SLUICE_ASSIGN_OR_RETURN(const double below, at(-step));
    SLUICE_ASSIGN_OR_RETURN(const double above, at(step));
    SLUICE_ASSIGN_OR_RETURN(const double far_above, at(2 * step));
    return (8 * (above - below) - (far_above - far_below)) / (12 * step);
  }

  absl::StatusOr<double> WorstError(const Order& order) {
    double worst = 0;
    for (size_t i = 0; i < order.gradients.size(); ++i) {
      std::vector<double> found(Reals(inputs_[i].value).size(), 0.0);
      if (order.gradients[i].is_set()) {
        SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> gradient, Fetch(feeds_, {order.gradients[i]}));
        if (gradient[0].shape() != inputs_[i].value.shape() || gradient[0].dtype() != inputs_[i].value.dtype()) {
          return absl::InternalError(absl::StrCat("the gradient of ", inputs_[i].feed,
                                                  " has another shape or type: ", gradient[0].shape().ToString()));
        }
        found = Reals(gradient[0]);
      }
      double largest = 1e-3, error = 0;
      for (size_t j = 0; j < found.size(); ++j) {
        SLUICE_ASSIGN_OR_RETURN(const double wanted, Derivative(order, inputs_[i], j));
        largest = std::max(largest, std::abs(wanted));
        const double difference = std::abs(found[j] - wanted);
        if (std::isnan(difference))
          return absl::InternalError(absl::StrCat("NaN in the gradient of ", inputs_[i].feed));
        error = std::max(error, difference);
      }
      worst = std::max(worst, error / largest);
    }
    return worst;
  }

  const RowCase& case_;
  const bool is_known_;
  GraphBuilder b_;
  NamedTensors feeds_;
  std::vector<std::string> assigns_;
  std::vector<Input> inputs_;
  std::vector<Output> ys_;
  std::unique_ptr<Session> session_;
};

}  // namespace

absl::StatusOr<std::vector<double>> NumericErrors(const RowCase& row_case, KnownBefore known) {
  return NumericCheck(row_case, known).Run();
}

}  // namespace sluice
