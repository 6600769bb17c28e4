#include "graph/training/learning_rate.h"

#include <cmath>

namespace sluice {
namespace {

using Kind = LearningRateSchedule::Kind;

// One schedule as formulas, in TensorFlow's order of operations. Borrows all it is made of.
class ScheduleWriter {
 public:
  ScheduleWriter(TrainNodes& nodes, const LearningRateSchedule& schedule, const Expr& rate)
      : nodes_(nodes), schedule_(schedule), rate_(rate) {}

  // `step` is of int64.
  Expr At(const Expr& step) {
    if (schedule_.warmup_steps == 0) return Decayed(step);
    const Expr length = Int64(step, schedule_.warmup_steps);
    const Expr decayed = Decayed(Maximum(step - length, Int64(step, 0)));
    // The first value of the schedule.
    const Expr target = schedule_.kind == Kind::kPiecewise ? Number(schedule_.values[0]) : rate_;
    const Expr start = Number(schedule_.warmup_start);
    const Expr warming = (target - start) * (Float(step) / Float(length)) + start;
    return Select(Less(step, length), warming, decayed);
  }

 private:
  Expr Number(double value) { return nodes_.Number(rate_.type(), value); }
  Expr Float(const Expr& integer) { return Cast(integer, rate_.type()); }

  Expr Decayed(const Expr& step) {
    switch (schedule_.kind) {
      case Kind::kConstant:
        return rate_;
      case Kind::kPiecewise:
        return Piecewise(step);
      case Kind::kExponential: {
        const Expr periods = Float(step) / Number(schedule_.decay_steps);
        return rate_ * Pow(Number(schedule_.decay_rate), schedule_.staircase ? Floor(periods) : periods);
      }
      case Kind::kPolynomial:
        return Polynomial(Float(step));
      case Kind::kCosine: {
        const Expr length = Number(schedule_.decay_steps);
        return Cosine(Minimum(Float(step), length) / length, Number(1));
      }
      case Kind::kCosineRestarts:
        return Restarts(Float(step) / Number(schedule_.decay_steps));
    }
    return Expr();
  }

  Expr Piecewise(const Expr& step) {
    Expr value = Number(schedule_.values.back());
    for (size_t i = schedule_.boundaries.size(); i-- > 0;) {
      value = Select(LessEqual(step, Int64(step, schedule_.boundaries[i])), Number(schedule_.values[i]), value);
    }
    return value;
  }

  Expr Polynomial(Expr step) {
    Expr length = Number(schedule_.decay_steps);
    if (schedule_.cycle) {
      const Expr cycles = AddOp("Ceil", {step / length});
      length = length * Select(Equal(step, Number(0)), Number(1), cycles);
    } else {
      step = Minimum(step, length);
    }
    const Expr end = Number(schedule_.end_rate);
    return (rate_ - end) * Pow(Number(1) - step / length, Number(schedule_.power)) + end;
  }

  // `done` is the part of the period that is over, from 0 to 1; the cosine is `height` times as high.
  Expr Cosine(const Expr& done, const Expr& height) {
    const Expr alpha = Number(schedule_.alpha);
    const Expr cosine = Number(0.5) * height * (Number(1) + Cos(Number(std::acos(-1.0)) * done));
    return rate_ * ((Number(1) - alpha) * cosine + alpha);
  }

  // `periods` counts periods as long as the first one.
  Expr Restarts(const Expr& periods) {
    const Expr t_mul = Number(schedule_.t_mul), m_mul = Number(schedule_.m_mul);
    if (schedule_.t_mul == 1) {
      const Expr restarts = Floor(periods);
      return Cosine(periods - restarts, Pow(m_mul, restarts));
    }
    // Period i has a length of t_mul^i: all before it are a geometric series.
    const Expr one = Number(1), rest = one - t_mul;
    const Expr restarts = Floor(Log(one - periods * rest) / Log(t_mul));
    const Expr length = Pow(t_mul, restarts);
    return Cosine((periods - (one - length) / rest) / length, Pow(m_mul, restarts));
  }

  TrainNodes& nodes_;
  const LearningRateSchedule& schedule_;
  const Expr rate_;
};

}  // namespace

LearningRate::LearningRate(TrainNodes& nodes, const TrainStepOptions& options, const Expr& step) : nodes_(nodes) {
  const TrainNodes::Scope scope = nodes_.In("learning_rate");
  const bool is_number = !options.learning_rate_tensor.is_set();
  value_ = is_number ? nodes_.Number(DType::kFloat, options.learning_rate) : nodes_.Value(options.learning_rate_tensor);
  if (!NeedsStep(options.schedule)) return;
  const bool is_real = value_.type() == DType::kFloat || value_.type() == DType::kDouble;
  if (!is_real) value_ = Cast(value_, DType::kFloat);
  value_ = ScheduleWriter(nodes_, options.schedule, value_).At(Cast(step, DType::kInt64));
}

Expr LearningRate::As(DType type) {
  for (const auto& [known, value] : casts_) {
    if (known == type) return value;
  }
  const TrainNodes::Scope scope = nodes_.In("learning_rate");
  casts_.emplace_back(type, Cast(value_, type));
  return casts_.back().second;
}

}  // namespace sluice
