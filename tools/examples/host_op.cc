// An op of a host's own: schema, shape function, gradient, kernel, row, and a graph that tests it.

#include <cstdio>
#include <string>

#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/added_gradients.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/added_shape_functions.h"
#include "kernels/families/register_all.h"
#include "kernels/new_kernel.h"

namespace {

// y = scale * x, in the memory of x where nothing else needs it.
class ScaleKernel : public sluice::Kernel {
 public:
  explicit ScaleKernel(float scale) : scale_(scale) {}
  absl::Status Compute(sluice::KernelContext& context) const override {
    const sluice::Shape shape = context.input(0).shape();
    const float* const x = context.input(0).flat<float>().data();
    SLUICE_ASSIGN_OR_RETURN(sluice::Tensor* const y, context.ForwardOrAllocate(0, shape, {0}));
    float* const out = y->flat<float>().data();  // Perhaps x itself. Long loops: context.ParallelFor.
    for (int64_t i = 0; i < shape.num_elements(); ++i) out[i] = scale_ * x[i];
    return absl::OkStatus();
  }

 private:
  const float scale_;
};

absl::Status ScaleShape(sluice::InferenceContext& c) {
  c.Pass(0, 0);
  return absl::OkStatus();
}

// As nodes: dy * scale.
absl::Status ScaleGradient(sluice::GradientContext& c) {
  c.SetInput(0, c.dy() * c.Float("scale"));
  return absl::OkStatus();
}

constexpr sluice::KernelRow kRows[] = {sluice::KernelRow("Scale", sluice::FromAttr<ScaleKernel, float>("scale"))};

absl::Status RunMain() {
  const auto ops = sluice::NewOpRegistry();
  SLUICE_ASSIGN_OR_RETURN(
      const sluice::OpSchema schema,
      sluice::OpSchemaBuilder("Scale").Input("x: float").Output("y: float").Attr("scale: float").Build());
  SLUICE_RETURN_IF_ERROR(ops->Add(schema));
  SLUICE_RETURN_IF_ERROR(sluice::AddShapeFunction(ops, "Scale", &ScaleShape));
  SLUICE_RETURN_IF_ERROR(sluice::AddGradientFunction(ops, "Scale", &ScaleGradient));
  sluice::KernelRegistry kernels;
  sluice::RegisterAllKernels(kernels);
  kernels.AddTable(kRows);
  sluice::GraphBuilder b(ops);
  const sluice::Output x = b.Placeholder("x", sluice::DType::kFloat);
  const sluice::Output y_of_x = b.Op("Scale", "y", {x}, {{"scale", 10.0f}});
  SLUICE_ASSIGN_OR_RETURN(sluice::Graph graph, b.Build());
  SLUICE_ASSIGN_OR_RETURN(const auto gradients, sluice::AddGradients(graph, {y_of_x}, {x}));
  const std::string dx = graph.OutputName(gradients.xs[0].value);
  sluice::SessionOptions options;
  options.kernels = &kernels;
  SLUICE_ASSIGN_OR_RETURN(const auto session, sluice::Session::Create(options, std::move(graph)));
  SLUICE_ASSIGN_OR_RETURN(const auto model, session->Prepare({{"x"}, {"y", dx}, {}, {}}));
  sluice::Tensor in[] = {sluice::Tensor::Vector<float>({1, -3})};
  sluice::Tensor out[2];
  SLUICE_RETURN_IF_ERROR(model->Run(in, absl::MakeSpan(out)));
  const auto y = out[0].flat<float>(), slope = out[1].flat<float>();
  const bool is_right = y[0] == 10 && y[1] == -30 && slope[0] == 10 && slope[1] == 10;
  return is_right ? absl::OkStatus() : absl::InternalError("10 and -30, and 10 for the gradient, were expected");
}

}  // namespace

int main() {
  const absl::Status status = RunMain();
  std::printf("%s\n", status.ok() ? "as expected" : sluice::FormatError(status).c_str());
  return status.ok() ? 0 : 1;
}
