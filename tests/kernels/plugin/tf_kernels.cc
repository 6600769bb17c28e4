// Two kernels as they are written for TensorFlow's C interface: a polynomial, and the same asynchronously.

#include <memory>
#include <vector>

#include "tests/kernels/plugin/plugin_threads.h"
#include "tests/kernels/plugin/tf_api.h"

namespace {

struct Polynomial {
  std::vector<float> coefficients;  // Of x^0, x^1, ...

  float Of(float x) const {
    float y = 0;
    for (size_t i = coefficients.size(); i-- > 0;) y = y * x + coefficients[i];
    return y;
  }
};

void* Create(TF_OpKernelConstruction* ctx) {
  TF_Status* const status = TF_NewStatus();
  auto made = std::make_unique<Polynomial>();
  int32_t size = 0;
  int32_t total = 0;
  TF_OpKernelConstruction_GetAttrSize(ctx, "coefficients", &size, &total, status);
  made->coefficients.resize(static_cast<size_t>(size));
  if (TF_GetCode(status) == TF_OK) {
    TF_OpKernelConstruction_GetAttrFloatList(ctx, "coefficients", made->coefficients.data(), size, status);
  }
  if (size == 0) TF_SetStatus(status, TF_INVALID_ARGUMENT, "a polynomial needs coefficients");
  const bool is_good = TF_GetCode(status) == TF_OK;
  if (!is_good) TF_OpKernelConstruction_Failure(ctx, status);
  TF_DeleteStatus(status);
  return is_good ? made.release() : nullptr;
}

void Delete(void* kernel) { std::unique_ptr<Polynomial>(static_cast<Polynomial*>(kernel)).reset(); }

void Compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* const status = TF_NewStatus();
  TF_Tensor* x = nullptr;
  TF_GetInput(ctx, 0, &x, status);
  TF_Tensor* y = nullptr;
  if (TF_GetCode(status) == TF_OK) {
    std::vector<int64_t> dims;
    for (int i = 0; i < TF_NumDims(x); ++i) dims.push_back(TF_Dim(x, i));
    y = TF_AllocateOutput(ctx, 0, TF_FLOAT, dims.data(), TF_NumDims(x), TF_TensorByteSize(x), status);
  }
  if (TF_GetCode(status) == TF_OK) {
    const float* const from = static_cast<const float*>(TF_TensorData(x));
    float* const to = static_cast<float*>(TF_TensorData(y));
    const auto& polynomial = *static_cast<const Polynomial*>(kernel);
    for (int64_t i = 0; i < TF_TensorElementCount(x); ++i) to[i] = polynomial.Of(from[i]);
  } else {
    TF_OpKernelContext_Failure(ctx, status);
  }
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  TF_DeleteStatus(status);
}

PluginThreads threads;

void ComputeAsync(void* kernel, TF_OpKernelContext* ctx, TF_AsyncOpKernelDoneCallback* done) {
  threads.Start([=] {
    Compute(kernel, ctx);
    TF_RunAsyncOpKernelDoneCallback(done);
  });
}

void SameShape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  TF_ShapeHandle* const shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(ctx, 0, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(ctx, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

void RegisterOp(const char* name, TF_Status* status) {
  TF_OpDefinitionBuilder* const op = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddInput(op, "x: T");
  TF_OpDefinitionBuilderAddOutput(op, "y: T");
  TF_OpDefinitionBuilderAddAttr(op, "T: {float}");
  TF_OpDefinitionBuilderAddAttr(op, "coefficients: list(float)");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, &SameShape);
  TF_RegisterOpDefinition(op, status);
}

}  // namespace

void TF_InitKernel() {
  TF_Status* const status = TF_NewStatus();
  RegisterOp("Polynomial", status);
  TF_KernelBuilder* builder = TF_NewKernelBuilder("Polynomial", "CPU", &Create, &Compute, &Delete);
  TF_KernelBuilder_TypeConstraint(builder, "T", TF_FLOAT, status);
  if (TF_GetCode(status) == TF_OK) TF_RegisterKernelBuilder("PolynomialOp", builder, status);
  RegisterOp("PolynomialAsync", status);
  builder = TF_NewAsyncKernelBuilder("PolynomialAsync", "CPU", &Create, &ComputeAsync, &Delete);
  TF_KernelBuilder_TypeConstraint(builder, "T", TF_FLOAT, status);
  if (TF_GetCode(status) == TF_OK) TF_RegisterKernelBuilder("PolynomialAsyncOp", builder, status);
  TF_DeleteStatus(status);
}
