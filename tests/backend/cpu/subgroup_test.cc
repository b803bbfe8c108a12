// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares subgroup operations with scalar loops, for every operation, type and subgroup size. All
/// lanes are active, or some, or the last subgroup is not full. The compiler knows the operands or
/// does not.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>

namespace weft::cpu {
namespace {

template <typename T>
constexpr bool is_floating = std::is_floating_point_v<T> || std::is_same_v<T, _Float16>;

template <typename T>
const char *glsl_name()
{
   if constexpr (std::is_same_v<T, bool>)
      return "bool";
   else if constexpr (std::is_same_v<T, _Float16>)
      return "float16_t";
   else if constexpr (std::is_floating_point_v<T>)
      return sizeof(T) == 4 ? "float" : "double";
   else if constexpr (std::is_signed_v<T>)
      return sizeof(T) == 1   ? "int8_t"
             : sizeof(T) == 2 ? "int16_t"
             : sizeof(T) == 4 ? "int"
                              : "int64_t";
   else
      return sizeof(T) == 1   ? "uint8_t"
             : sizeof(T) == 2 ? "uint16_t"
             : sizeof(T) == 4 ? "uint"
                              : "uint64_t";
}

/// The representation of a T in buffers: the shader converts.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

/// The numbers that lanes hold.
enum class Inputs {
   any_bits,     ///< floats: with NaNs, infinities, denormals
   whole,        ///< small whole numbers, whose sums are exact in any order
   powers_of_two ///< few powers, whose products are exact in any order
};

/// The lanes of one subgroup, of any type. Functions without a type are no templates, and are
/// compiled once.
struct Subgroup {
   std::vector<bool> active;
   std::vector<uint32_t> index; ///< another operand: a number below the subgroup size
   uint32_t uniform_index;      ///< the same for all

   uint32_t size() const { return active.size(); }
   uint32_t first() const
   {
      for (uint32_t l = 0; l < size(); l++)
         if (active[l])
            return l;
      return 0;
   }
};

/// The values of the active lanes.
template <typename T>
struct Lanes : Subgroup {
   std::vector<T> value;

   std::optional<T> at(uint32_t l) const
   {
      if (l < size() && active[l])
         return value[l];
      return std::nullopt;
   }
};

/// An expression in `v` (the lane's value), `n` (its index) and `u` (the index that all share), and
/// its value in a lane; nothing if undefined.
template <typename T, typename R = T>
struct Case {
   std::string expression;
   std::function<std::optional<R>(const Lanes<T> &, uint32_t lane)> expected;
};

class Subgroups : public testing::TestWithParam<uint32_t> {
protected:
   Executor executor{1};
   std::mt19937_64 random{test::test_seed()};

   template <typename T>
   Stored<T> draw(Inputs inputs)
   {
      if constexpr (std::is_same_v<T, bool>) {
         return random() % 2;
      } else if constexpr (!is_floating<T>) {
         const bool small = inputs == Inputs::whole || random() % 2;
         return T(random() >> (small ? 60 : 0)); // small numbers are often equal
      } else if (inputs == Inputs::whole) {
         return T(int(random() % 16) - 8);
      } else if (inputs == Inputs::powers_of_two) {
         const T sign = random() % 2 ? T(1) : T(-1);
         return random() % 8 ? sign : sign * T(random() % 2 ? 2 : 0.5);
      } else {
         const uint64_t bits = random();
         T v;
         std::memcpy(&v, &bits, sizeof(v));
         return v;
      }
   }

   /// Whether the lane is active in a round. In the first round all lanes are active.
   bool draw_active(int round, uint32_t lane)
   {
      switch (round) {
      case 0:
         return true;
      case 1:
         return lane == 5;
      case 2:
         return lane % 8 >= 4;
      default:
         return random() % uint64_t(round) != 0;
      }
   }

   template <typename T, typename R>
   void check(const std::vector<Case<T, R>> &cases, Inputs inputs = Inputs::any_bits);
};

INSTANTIATE_TEST_SUITE_P(Sizes, Subgroups, testing::Values(8, 16, 32, 64),
                         [](const auto &info) { return std::to_string(info.param); });

template <typename T, typename R>
void Subgroups::check(const std::vector<Case<T, R>> &cases, Inputs inputs)
{
   const uint32_t W = GetParam();
   const uint32_t invocations = 3 * W + W / 2 + 1; // full subgroups, and one that is not
   std::string body;
   for (size_t c = 0; c < cases.size(); c++)
      body += "      o[" + std::to_string(c * invocations) + " + i] = " + glsl_name<Stored<R>>() +
              "(" + cases[c].expression + ");\n";
   const std::string glsl = std::string("layout(local_size_x = ") + std::to_string(invocations) +
                            R"() in;
layout(set = 0, binding = 0, scalar) buffer V { )" +
                            glsl_name<Stored<T>>() + R"( a[]; };
layout(set = 0, binding = 1, scalar) buffer N { uint index[]; };
layout(set = 0, binding = 2, scalar) buffer A { uint active_lanes[]; };
layout(set = 0, binding = 3, scalar) buffer O { )" +
                            glsl_name<Stored<R>>() + R"( o[]; };
void main() {
   uint i = gl_LocalInvocationIndex;
   )" + glsl_name<T>() +
                            " v = " + (std::is_same_v<T, bool> ? "a[i] != uint8_t(0)" : "a[i]") +
                            R"(;
   uint n = index[i];
   uint u = subgroupBroadcastFirst(index[i - gl_SubgroupInvocationID]);
   if (active_lanes[i] != 0) {
)" + body + R"(   }
}
)";
   auto program = compile_shader(glsl, W, 4);
   ASSERT_TRUE(program) << program.error().message << glsl;

   for (int round = 0; round < 6; round++) {
      std::vector<Stored<T>> a(invocations);
      std::vector<uint32_t> index(invocations), active(invocations);
      std::vector<Stored<R>> o(cases.size() * invocations, Stored<R>(77));
      for (uint32_t i = 0; i < invocations; i++) {
         a[i] = draw<T>(inputs);
         index[i] = random() % W;
         active[i] = draw_active(round, i % W);
      }
      ASSERT_TRUE(run_shader(
         executor, **program,
         {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(index)),
          std::as_writable_bytes(std::span(active)), std::as_writable_bytes(std::span(o))},
         {1, 1, 1}));
      for (uint32_t subgroup = 0; subgroup * W < invocations; subgroup++) {
         Lanes<T> lanes;
         lanes.uniform_index = index[subgroup * W];
         for (uint32_t l = 0; l < W; l++) {
            const uint32_t i = subgroup * W + l;
            const bool exists = i < invocations;
            lanes.value.push_back(exists ? T(a[i]) : T(0));
            lanes.index.push_back(exists ? index[i] : 0);
            lanes.active.push_back(exists && active[i]);
         }
         for (size_t c = 0; c < cases.size(); c++) {
            for (uint32_t l = 0; l < W && subgroup * W + l < invocations; l++) {
               const Stored<R> actual = o[c * invocations + subgroup * W + l];
               std::optional<R> expected;
               if (lanes.active[l])
                  expected = cases[c].expected(lanes, l);
               if (lanes.active[l] && !expected)
                  continue;
               const Stored<R> wanted = lanes.active[l] ? Stored<R>(*expected) : Stored<R>(77);
               ASSERT_EQ(std::memcmp(&actual, &wanted, sizeof(actual)), 0)
                  << cases[c].expression << " of " << glsl_name<T>() << ", round " << round
                  << ", subgroup " << subgroup << ", lane " << l << ": " << double(actual)
                  << " instead of " << double(wanted);
            }
         }
      }
   }
}

template <typename T>
struct Operation {
   std::string name;
   T identity;
   T (*combine)(T, T);
};

template <typename T>
std::vector<Operation<T>> operations(Inputs inputs)
{
   if constexpr (std::is_same_v<T, bool>) {
      return {
         {"And", true, [](bool x, bool y) { return x && y; }},
         {"Or", false, [](bool x, bool y) { return x || y; }},
         {"Xor", false, [](bool x, bool y) { return x != y; }},
      };
   } else {
      const Operation<T> product = {"Mul", T(1), [](T x, T y) {
                                       if constexpr (is_floating<T>)
                                          return T(x * y);
                                       else
                                          return T(uint64_t(x) * uint64_t(y));
                                    }};
      if (inputs == Inputs::powers_of_two)
         return {product};
      T lowest, highest;
      if constexpr (is_floating<T>) {
         highest = T(std::numeric_limits<float>::infinity());
         lowest = -highest;
      } else {
         lowest = std::numeric_limits<T>::min();
         highest = std::numeric_limits<T>::max();
      }
      std::vector<Operation<T>> list = {
         {"Add", T(0),
          [](T x, T y) {
             if constexpr (is_floating<T>)
                return T(x + y);
             else
                return T(uint64_t(x) + uint64_t(y));
          }},
         {"Min", highest, [](T x, T y) { return x < y ? x : y; }},
         {"Max", lowest, [](T x, T y) { return x > y ? x : y; }},
      };
      if constexpr (!is_floating<T>) {
         list.push_back(product);
         list.push_back({"And", T(~T(0)), [](T x, T y) { return T(x & y); }});
         list.push_back({"Or", T(0), [](T x, T y) { return T(x | y); }});
         list.push_back({"Xor", T(0), [](T x, T y) { return T(x ^ y); }});
      }
      return list;
   }
}

/// The lanes [from, to) over which an operation goes, for each lane.
struct Extent {
   std::string before, after; ///< of the operation's name in the expression
   std::function<std::pair<uint32_t, uint32_t>(uint32_t lane)> lanes;
};

std::vector<Extent> extents(uint32_t W)
{
   std::vector<Extent> list = {
      {"subgroup", "(v)", [=](uint32_t) { return std::pair(0u, W); }},
      {"subgroupInclusive", "(v)", [](uint32_t l) { return std::pair(0u, l + 1); }},
      {"subgroupExclusive", "(v)", [](uint32_t l) { return std::pair(0u, l); }},
   };
   for (uint32_t cluster = 1; cluster <= W; cluster *= 2)
      list.push_back({"subgroupClustered", "(v, " + std::to_string(cluster) + ")", [=](uint32_t l) {
                         const uint32_t start = l / cluster * cluster;
                         return std::pair(start, start + cluster);
                      }});
   return list;
}

template <typename T>
std::vector<Case<T>> arithmetic_cases(uint32_t W, Inputs inputs)
{
   std::vector<Case<T>> cases;
   for (const Operation<T> &op : operations<T>(inputs)) {
      for (const Extent &extent : extents(W))
         cases.push_back(
            {extent.before + op.name + extent.after, [=](const Lanes<T> &lanes, uint32_t lane) {
                const auto [from, to] = extent.lanes(lane);
                T result = op.identity;
                for (uint32_t l = from; l < to; l++)
                   if (lanes.active[l])
                      result = op.combine(result, lanes.value[l]);
                return std::optional<T>(result);
             }});
   }
   return cases;
}

TEST_P(Subgroups, ArithmeticOnBooleans)
{
   check(arithmetic_cases<bool>(GetParam(), Inputs::any_bits));
}

TEST_P(Subgroups, ArithmeticOn8Bits)
{
   check(arithmetic_cases<int8_t>(GetParam(), Inputs::any_bits));
   check(arithmetic_cases<uint8_t>(GetParam(), Inputs::any_bits));
}

TEST_P(Subgroups, ArithmeticOn16Bits)
{
   check(arithmetic_cases<int16_t>(GetParam(), Inputs::any_bits));
   check(arithmetic_cases<uint16_t>(GetParam(), Inputs::any_bits));
}

TEST_P(Subgroups, ArithmeticOn32Bits)
{
   check(arithmetic_cases<int32_t>(GetParam(), Inputs::any_bits));
   check(arithmetic_cases<uint32_t>(GetParam(), Inputs::any_bits));
}

TEST_P(Subgroups, ArithmeticOn64Bits)
{
   check(arithmetic_cases<int64_t>(GetParam(), Inputs::any_bits));
   check(arithmetic_cases<uint64_t>(GetParam(), Inputs::any_bits));
}

TEST_P(Subgroups, ArithmeticOnFloats)
{
   for (const Inputs inputs : {Inputs::whole, Inputs::powers_of_two}) {
      check(arithmetic_cases<_Float16>(GetParam(), inputs), inputs);
      check(arithmetic_cases<float>(GetParam(), inputs), inputs);
      check(arithmetic_cases<double>(GetParam(), inputs), inputs);
   }
}

/// An expression, and the lane whose value it should be.
struct Movement {
   std::string expression;
   std::function<uint32_t(const Subgroup &, uint32_t lane)> source;
};

std::vector<Movement> movements(uint32_t W)
{
   using L = const Subgroup &;
   std::vector<Movement> list = {
      {"subgroupBroadcast(v, 3)", [](L, uint32_t) { return 3; }},
      {"subgroupBroadcast(v, u)", [](L lanes, uint32_t) { return lanes.uniform_index; }},
      {"subgroupBroadcastFirst(v)", [](L lanes, uint32_t) { return lanes.first(); }},
      {"subgroupShuffle(v, n)", [](L lanes, uint32_t l) { return lanes.index[l]; }},
      {"subgroupShuffle(v, 2)", [](L, uint32_t) { return 2; }},
      {"subgroupShuffle(v, u)", [](L lanes, uint32_t) { return lanes.uniform_index; }},
      {"subgroupShuffle(v, gl_SubgroupSize - 1 - gl_SubgroupInvocationID)",
       [W](L, uint32_t l) { return W - 1 - l; }},
      {"subgroupShuffleXor(v, 1)", [](L, uint32_t l) { return l ^ 1; }},
      {"subgroupShuffleXor(v, 5)", [](L, uint32_t l) { return l ^ 5; }},
      {"subgroupShuffleXor(v, gl_SubgroupSize / 2)", [W](L, uint32_t l) { return l ^ (W / 2); }},
      {"subgroupShuffleXor(v, u)", [](L lanes, uint32_t l) { return l ^ lanes.uniform_index; }},
      {"subgroupShuffleXor(v, n)", [](L lanes, uint32_t l) { return l ^ lanes.index[l]; }},
      {"subgroupShuffleUp(v, 3)", [](L, uint32_t l) { return l - 3; }},
      {"subgroupShuffleDown(v, 3)", [](L, uint32_t l) { return l + 3; }},
      {"subgroupShuffleUp(v, u)", [](L lanes, uint32_t l) { return l - lanes.uniform_index; }},
      {"subgroupShuffleDown(v, u)", [](L lanes, uint32_t l) { return l + lanes.uniform_index; }},
      {"subgroupShuffleUp(v, n)", [](L lanes, uint32_t l) { return l - lanes.index[l]; }},
      {"subgroupShuffleDown(v, n)", [](L lanes, uint32_t l) { return l + lanes.index[l]; }},
      {"subgroupRotate(v, 5)", [W](L, uint32_t l) { return (l + 5) % W; }},
      {"subgroupRotate(v, u)", [W](L lanes, uint32_t l) { return (l + lanes.uniform_index) % W; }},
      {"subgroupQuadSwapHorizontal(v)", [](L, uint32_t l) { return l ^ 1; }},
      {"subgroupQuadSwapVertical(v)", [](L, uint32_t l) { return l ^ 2; }},
      {"subgroupQuadSwapDiagonal(v)", [](L, uint32_t l) { return l ^ 3; }},
   };
   for (uint32_t size = 1; size <= W; size *= 2) {
      const std::string end = ", " + std::to_string(size) + ")";
      const auto turned = [size](uint32_t l, uint32_t by) {
         return l / size * size + (l + by) % size;
      };
      list.push_back(
         {"subgroupClusteredRotate(v, 3" + end, [=](L, uint32_t l) { return turned(l, 3); }});
      list.push_back({"subgroupClusteredRotate(v, u" + end,
                      [=](L lanes, uint32_t l) { return turned(l, lanes.uniform_index); }});
   }
   for (uint32_t i = 0; i < 4; i++)
      list.push_back({"subgroupQuadBroadcast(v, " + std::to_string(i) + ")",
                      [=](L, uint32_t l) { return l / 4 * 4 + i; }});
   return list;
}

template <typename T>
std::vector<Case<T>> movement_cases(uint32_t W)
{
   std::vector<Case<T>> cases;
   for (const Movement &m : movements(W))
      cases.push_back({m.expression, [m](const Lanes<T> &lanes, uint32_t l) {
                          return lanes.at(m.source(lanes, l));
                       }});
   return cases;
}

/// Votes, which every type has.
template <typename T>
std::vector<Case<T, bool>> equality_cases()
{
   using L = const Lanes<T> &;
   return {{"subgroupAllEqual(v)",
            [](L lanes, uint32_t) {
               bool equal = true;
               for (uint32_t l = 0; l < lanes.size(); l++)
                  equal &= !lanes.active[l] || lanes.value[l] == lanes.value[lanes.first()];
               return std::optional<bool>(equal);
            }},
           {"subgroupAllEqual(subgroupBroadcastFirst(v))", [](L lanes, uint32_t) {
               const T first = lanes.value[lanes.first()];
               return std::optional<bool>(first == first); // but for NaN
            }}};
}

TEST_P(Subgroups, MoveBooleans)
{
   check(movement_cases<bool>(GetParam()));
   check(equality_cases<bool>());
}

TEST_P(Subgroups, MoveIntegers)
{
   const uint32_t W = GetParam();
   check(movement_cases<int8_t>(W));
   check(movement_cases<uint16_t>(W));
   check(movement_cases<int32_t>(W));
   check(movement_cases<uint64_t>(W));
   check(equality_cases<int8_t>());
   check(equality_cases<uint16_t>());
   check(equality_cases<int32_t>());
   check(equality_cases<uint64_t>());
}

TEST_P(Subgroups, MoveFloats)
{
   const uint32_t W = GetParam();
   check(movement_cases<_Float16>(W));
   check(movement_cases<float>(W));
   check(movement_cases<double>(W));
   for (const Inputs inputs : {Inputs::any_bits, Inputs::whole}) {
      check(equality_cases<_Float16>(), inputs);
      check(equality_cases<float>(), inputs);
      check(equality_cases<double>(), inputs);
   }
}

/// Number of active lanes in [from, to) that hold an odd number.
uint32_t count_odd(const Lanes<uint32_t> &lanes, uint32_t from, uint32_t to)
{
   uint32_t count = 0;
   for (uint32_t l = from; l < to; l++)
      count += lanes.active[l] && lanes.value[l] % 2;
   return count;
}

TEST_P(Subgroups, VoteAndBallot)
{
   const uint32_t W = GetParam();
   using L = const Lanes<uint32_t> &;
   using Answer = std::optional<uint32_t>;
   const auto active_count = [](L lanes) {
      return uint32_t(std::count(lanes.active.begin(), lanes.active.end(), true));
   };
   const auto ballot_word = [](L lanes, uint32_t word) {
      uint32_t bits = 0;
      for (uint32_t l = 32 * word; l < std::min(lanes.size(), 32 * word + 32); l++)
         bits |= uint32_t(lanes.active[l] && lanes.value[l] % 2) << (l % 32);
      return bits;
   };
   std::vector<Case<uint32_t>> cases = {
      {"uint(subgroupElect())", [](L lanes, uint32_t l) { return Answer(l == lanes.first()); }},
      {"uint(subgroupAny(v > 13))",
       [](L lanes, uint32_t) {
          bool any = false;
          for (uint32_t l = 0; l < lanes.size(); l++)
             any |= lanes.active[l] && lanes.value[l] > 13;
          return Answer(any);
       }},
      {"uint(subgroupAll(v > 0))",
       [](L lanes, uint32_t) {
          bool all = true;
          for (uint32_t l = 0; l < lanes.size(); l++)
             all &= !lanes.active[l] || lanes.value[l] > 0;
          return Answer(all);
       }},
      {"uint(subgroupAll(n < 1000))", [](L, uint32_t) { return Answer(1); }},
      {"uint(subgroupAllEqual(v & 0))", [](L, uint32_t) { return Answer(1); }},
      {"subgroupBallotBitCount(subgroupBallot((v & 1) != 0))",
       [](L lanes, uint32_t) { return Answer(count_odd(lanes, 0, lanes.size())); }},
      {"subgroupBallotBitCount(subgroupBallot(true))",
       [=](L lanes, uint32_t) { return Answer(active_count(lanes)); }},
      {"subgroupBallotInclusiveBitCount(subgroupBallot((v & 1) != 0))",
       [](L lanes, uint32_t l) { return Answer(count_odd(lanes, 0, l + 1)); }},
      {"subgroupBallotExclusiveBitCount(subgroupBallot((v & 1) != 0))",
       [](L lanes, uint32_t l) { return Answer(count_odd(lanes, 0, l)); }},
      {"subgroupBallotFindLSB(subgroupBallot(true))",
       [](L lanes, uint32_t) { return Answer(lanes.first()); }},
      {"subgroupBallotFindMSB(subgroupBallot(true))",
       [](L lanes, uint32_t) {
          uint32_t last = 0;
          for (uint32_t l = 0; l < lanes.size(); l++)
             last = lanes.active[l] ? l : last;
          return Answer(last);
       }},
      {"uint(subgroupInverseBallot(subgroupBallot((v & 1) != 0)))",
       [](L lanes, uint32_t l) { return Answer(lanes.value[l] % 2); }},
      {"uint(subgroupBallotBitExtract(subgroupBallot((v & 1) != 0), n))",
       [](L lanes, uint32_t l) {
          return Answer(lanes.active[lanes.index[l]] && lanes.value[lanes.index[l]] % 2);
       }},
      {"gl_SubgroupInvocationID", [](L, uint32_t l) { return Answer(l); }},
      {"gl_SubgroupSize", [=](L, uint32_t) { return Answer(W); }},
      {"uint(subgroupAnd(int(v > 7)))",
       [](L lanes, uint32_t) {
          bool all = true;
          for (uint32_t l = 0; l < lanes.size(); l++)
             all &= !lanes.active[l] || lanes.value[l] > 7;
          return Answer(all);
       }},
      {"uint(subgroupOr(v > 14))",
       [](L lanes, uint32_t) {
          bool any = false;
          for (uint32_t l = 0; l < lanes.size(); l++)
             any |= lanes.active[l] && lanes.value[l] > 14;
          return Answer(any);
       }},
      {"uint(subgroupExclusiveXor((v & 1) != 0))",
       [](L lanes, uint32_t l) { return Answer(count_odd(lanes, 0, l) % 2); }},
      {"uint(subgroupClusteredAnd((v & 1) != 0, 4))",
       [](L lanes, uint32_t l) {
          bool all = true;
          for (uint32_t i = l / 4 * 4; i < l / 4 * 4 + 4; i++)
             all &= !lanes.active[i] || lanes.value[i] % 2;
          return Answer(all);
       }},
   };
   for (uint32_t word = 0; word < 4; word++)
      cases.push_back({std::string("subgroupBallot((v & 1) != 0).") + "xyzw"[word],
                       [=](L lanes, uint32_t) { return Answer(ballot_word(lanes, word)); }});
   const std::pair<const char *, std::function<bool(uint32_t, uint32_t)>> masks[] = {
      {"Eq", std::equal_to<>()},   {"Ge", std::greater_equal<>()}, {"Gt", std::greater<>()},
      {"Le", std::less_equal<>()}, {"Lt", std::less<>()},
   };
   for (const auto &[name, compare] : masks) {
      for (uint32_t word = 0; word < 4; word++)
         cases.push_back(
            {std::string("gl_Subgroup") + name + "Mask." + "xyzw"[word], [=](L, uint32_t l) {
                uint32_t bits = 0;
                for (uint32_t k = 32 * word; k < std::min(W, 32 * word + 32); k++)
                   bits |= uint32_t(compare(k, l)) << (k % 32);
                return Answer(bits);
             }});
   }
   check(cases);
   check(cases, Inputs::whole);
}

} // namespace
} // namespace weft::cpu
