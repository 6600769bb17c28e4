// A program that includes tape.h may call its own things Log, Exp or Mul, also in the namespace of the tape.

#include "executor/tape/tape.h"
#include "gtest/gtest.h"

namespace sluice {

class Log {};
class Exp {};
class Mul {};
class Select {};
class Number {};
struct Gather {};
int Sum(int a, int b) { return a + b; }
int Abs = 1, Reshape = 2, Pack = 3, Where = 4, Bool = 5, Scalar = 6, Zeros = 7, Maximum = 8, Pow = 9;

namespace {

TEST(OwnNamesTest, TheTapeLeavesThemToTheProgram) {
  Tape tape;
  const Log log;
  const Exp exp;
  const Mul mul;
  (void)log, (void)exp, (void)mul;
  EXPECT_EQ(Sum(Abs, Reshape), Pack);
  EXPECT_TRUE(tape.Leaf<float>(1).requires_grad());
}

}  // namespace
}  // namespace sluice
