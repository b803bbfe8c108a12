// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares subgroup operations with a scalar model of one subgroup. All invocations are active, or
/// only some.

#include "tests/e2e/compute.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

namespace weft::e2e {

namespace {

/// Whole numbers so small that arithmetic on a subgroup of them is exact in every type.
using Value = int64_t;
/// The values of a subgroup's invocations; nothing for an inactive invocation.
using Lanes = std::vector<std::optional<Value>>;

struct Reduction {
   const char *name; ///< as in subgroup$NAME
   Value identity;
   std::function<Value(Value, Value)> combine;
   bool integers_only;
};

const std::vector<Reduction> &reductions()
{
   static const std::vector<Reduction> all = {
      {"Add", 0, [](Value x, Value y) { return x + y; }, false},
      {"Mul", 1, [](Value x, Value y) { return x * y; }, false},
      {"Min", 127, [](Value x, Value y) { return std::min(x, y); }, false},
      {"Max", -127, [](Value x, Value y) { return std::max(x, y); }, false},
      {"And", -1, [](Value x, Value y) { return x & y; }, true},
      {"Or", 0, [](Value x, Value y) { return x | y; }, true},
      {"Xor", 0, [](Value x, Value y) { return x ^ y; }, true},
   };
   return all;
}

/// One invocation's result over the active ones from `first` to before `end`.
Value reduce(const Reduction &op, const Lanes &lanes, size_t first, size_t end)
{
   Value result = op.identity;
   for (size_t i = first; i < end; i++) {
      if (lanes[i])
         result = op.combine(result, *lanes[i]);
   }
   return result;
}

/// Runs `expression` of `x` in the invocations that `condition` names, in 3 workgroups of 2
/// subgroups. Compares with model(lanes, own number); if the model returns nothing, any result is
/// accepted.
void expect_model(uint32_t size, const std::string &type, const std::string &expression,
                  const std::string &condition, const std::function<bool(uint32_t)> &active,
                  const std::function<Value(oracle::Random &)> &draw,
                  const std::function<std::optional<Value>(const Lanes &, uint32_t)> &model,
                  Value modulus)
{
   SCOPED_TRACE(type + ": " + expression + " where " + condition + ", subgroup size " +
                std::to_string(size));
   Device &device = plain_device();
   oracle::Random random = test_random();
   const uint32_t count = 6 * size;
   std::vector<int32_t> source(count);
   for (int32_t &x : source)
      x = int32_t(draw(random));
   const ComputeShader shader = {
      .source_type = "int",
      .target_type = "int",
      .declarations = "",
      .body = "   " + type + " x = " + type +
              "(source.data[id]);\n   const uint lane = gl_SubgroupInvocationID;\n   if (" +
              condition + ")\n      target.data[id] = int(" + expression + ");\n",
      .local_size = 2 * size,
      .groups = 3,
      .subgroup_size = size};
   const std::vector<int32_t> target = run_compute<int32_t>(device, shader, source, count);
   for (uint32_t i = 0; i < count; i++) {
      const uint32_t lane = i % size;
      Lanes lanes(size);
      for (uint32_t j = 0; j < size; j++) {
         if (active(j))
            lanes[j] = source[i - lane + j];
      }
      if (!active(lane))
         continue;
      const std::optional<Value> expected = model(lanes, lane);
      // Types narrower than 32 bits compare modulo their range.
      if (expected) {
         ASSERT_EQ((Value(target[i]) % modulus + modulus) % modulus,
                   (*expected % modulus + modulus) % modulus)
            << "invocation " << lane << " of subgroup " << i / size;
      }
   }
}

struct TypeCase {
   const char *glsl;
   Value modulus;
   bool is_float;
};

std::vector<TypeCase> types(const Device &device)
{
   const Value all = Value(1) << 32;
   std::vector<TypeCase> found = {{"int", all, false}, {"uint", all, false}, {"float", all, true}};
   if (device.features.shaderFloat64)
      found.push_back({"double", all, true});
   if (!device.features12.shaderSubgroupExtendedTypes) {
      skip_case("needs shaderSubgroupExtendedTypes");
      return found;
   }
   if (device.features12.shaderInt8)
      found.insert(found.end(), {{"int8_t", 256, false}, {"uint8_t", 256, false}});
   if (device.features.shaderInt16)
      found.insert(found.end(), {{"int16_t", 65536, false}, {"uint16_t", 65536, false}});
   if (device.features.shaderInt64)
      found.insert(found.end(), {{"int64_t", all, false}, {"uint64_t", all, false}});
   if (device.features12.shaderFloat16)
      found.push_back({"float16_t", all, true});
   return found;
}

/// Products get small factors, mostly 1, so that they stay exact; sums and bits get larger numbers.
std::function<Value(oracle::Random &)> values_for(const Reduction &op)
{
   const bool product = std::string(op.name) == "Mul";
   return [product](oracle::Random &random) -> Value {
      return product ? (oracle::draw(random, 16) == 0 ? 2 : 1) : Value(oracle::draw(random, 30));
   };
}

/// The invocations that take part.
struct Activity {
   const char *condition;
   std::function<bool(uint32_t)> active;
};

const Activity everyone = {"true", [](uint32_t) { return true; }};
const Activity some = {"lane % 3 != 1", [](uint32_t lane) { return lane % 3 != 1; }};

bool offers(VkSubgroupFeatureFlagBits operations)
{
   if ((plain_device().properties11.subgroupSupportedOperations & operations) ==
       VkSubgroupFeatureFlags(operations))
      return true;
   skip_case("needs a subgroup operation that is not advertised");
   return false;
}

void for_each_reduction(const std::function<void(const Reduction &, const TypeCase &,
                                                 const Activity &, uint32_t size)> &body)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (const TypeCase &type : types(device)) {
      for (const Reduction &op : reductions()) {
         if (op.integers_only && type.is_float)
            continue;
         for (uint32_t size : device.subgroup_sizes()) {
            for (const Activity *activity : {&everyone, &some}) {
               // Every type with every operation, each with half of the sizes and activities.
               if (oracle::draw(random, 2) || !selected(random, 8))
                  continue;
               body(op, type, *activity, size);
               if (testing::Test::HasFailure())
                  return;
            }
         }
      }
   }
}

} // namespace

TEST(Subgroup, Reductions)
{
   if (!offers(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT))
      GTEST_SKIP();
   for_each_reduction(
      [](const Reduction &op, const TypeCase &type, const Activity &activity, uint32_t size) {
         expect_model(
            size, type.glsl, std::string("subgroup") + op.name + "(x)", activity.condition,
            activity.active, values_for(op),
            [&](const Lanes &lanes, uint32_t) { return reduce(op, lanes, 0, lanes.size()); },
            type.modulus);
      });
}

TEST(Subgroup, Scans)
{
   if (!offers(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT))
      GTEST_SKIP();
   for_each_reduction(
      [](const Reduction &op, const TypeCase &type, const Activity &activity, uint32_t size) {
         expect_model(
            size, type.glsl, std::string("subgroupInclusive") + op.name + "(x)", activity.condition,
            activity.active, values_for(op),
            [&](const Lanes &lanes, uint32_t lane) { return reduce(op, lanes, 0, lane + 1); },
            type.modulus);
         // The first invocation of an exclusive scan gets an identity that depends on the type.
         expect_model(
            size, type.glsl, std::string("subgroupExclusive") + op.name + "(x)", activity.condition,
            activity.active, values_for(op),
            [&](const Lanes &lanes, uint32_t lane) -> std::optional<Value> {
               const bool first = lane == 0 && std::abs(op.identity) == 127;
               return first ? std::nullopt : std::optional(reduce(op, lanes, 0, lane));
            },
            type.modulus);
      });
}

TEST(Subgroup, ClusteredReductions)
{
   if (!offers(VK_SUBGROUP_FEATURE_CLUSTERED_BIT))
      GTEST_SKIP();
   oracle::Random random = test_random();
   for_each_reduction(
      [&](const Reduction &op, const TypeCase &type, const Activity &activity, uint32_t size) {
         uint32_t cluster = 1u << oracle::draw(random, 7);
         cluster = std::min(cluster, size);
         expect_model(
            size, type.glsl,
            std::string("subgroupClustered") + op.name + "(x, " + std::to_string(cluster) + ")",
            activity.condition, activity.active, values_for(op),
            [&](const Lanes &lanes, uint32_t lane) {
               const uint32_t first = lane / cluster * cluster;
               return reduce(op, lanes, first, first + cluster);
            },
            type.modulus);
      });
}

/// VK_KHR_shader_quad_control: votes of four invocations.
TEST(Subgroup, QuadVotes)
{
   if (!plain_device().has_extension(VK_KHR_SHADER_QUAD_CONTROL_EXTENSION_NAME)) {
      skip_case("needs VK_KHR_shader_quad_control");
      GTEST_SKIP();
   }
   const auto odd_of_quad = [](const Lanes &lanes, uint32_t lane) {
      const auto quad = lanes.begin() + lane / 4 * 4;
      return std::count_if(quad, quad + 4, [](const auto &x) { return x && *x % 2; });
   };
   const auto draw = [](oracle::Random &random) { return Value(oracle::draw(random, 6)); };
   // Only whole quads take part: else the result is not defined.
   const Activity whole_quads = {"lane % 8 < 4", [](uint32_t lane) { return lane % 8 < 4; }};
   for (const uint32_t size : plain_device().subgroup_sizes()) {
      for (const Activity &activity : {everyone, whole_quads}) {
         expect_model(
            size, "int", "subgroupQuadAll(x % 2 != 0)", activity.condition, activity.active, draw,
            [&](const Lanes &l, uint32_t lane) { return Value(odd_of_quad(l, lane) == 4); }, 2);
         expect_model(
            size, "int", "subgroupQuadAny(x % 2 != 0)", activity.condition, activity.active, draw,
            [&](const Lanes &l, uint32_t lane) { return Value(odd_of_quad(l, lane) > 0); }, 2);
      }
   }
}

/// VK_NV_shader_subgroup_partitioned: the usual operations among invocations with the same key.
TEST(Subgroup, Partitions)
{
   if (!offers(VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV))
      GTEST_SKIP();
   for (const TypeCase &type : types(plain_device())) {
      for (const uint32_t size : plain_device().subgroup_sizes()) {
         for (const Activity *activity : {&everyone, &some}) {
            expect_model(
               size, type.glsl, "subgroupPartitionNV(x)[lane / 32]", activity->condition,
               activity->active,
               [](oracle::Random &random) { return Value(oracle::draw(random, 7)); },
               [](const Lanes &lanes, uint32_t lane) {
                  uint32_t same = 0;
                  for (uint32_t i = lane / 32 * 32; i < lanes.size() && i < lane / 32 * 32 + 32;
                       i++)
                     same |= uint32_t(lanes[i] && *lanes[i] == *lanes[lane]) << i % 32;
                  return Value(same);
               },
               Value(1) << 32);
         }
      }
   }
}

TEST(Subgroup, PartitionedReductionsAndScans)
{
   if (!offers(VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV))
      GTEST_SKIP();
   constexpr auto key = [](size_t lane) { return lane * 7 % 5; };
   // The lanes with the key of `lane`, the others inactive.
   const auto partition = [&](Lanes lanes, uint32_t lane) {
      for (size_t i = 0; i < lanes.size(); i++) {
         if (key(i) != key(lane))
            lanes[i] = std::nullopt;
      }
      return lanes;
   };
   for_each_reduction(
      [&](const Reduction &op, const TypeCase &type, const Activity &activity, uint32_t size) {
         const auto expression = [&](const char *scan) {
            return std::string("subgroupPartitioned") + scan + op.name +
                   "NV(x, subgroupPartitionNV(lane * 7u % 5u))";
         };
         expect_model(
            size, type.glsl, expression(""), activity.condition, activity.active, values_for(op),
            [&](const Lanes &lanes, uint32_t lane) {
               return reduce(op, partition(lanes, lane), 0, lanes.size());
            },
            type.modulus);
         expect_model(
            size, type.glsl, expression("Inclusive"), activity.condition, activity.active,
            values_for(op),
            [&](const Lanes &lanes, uint32_t lane) {
               return reduce(op, partition(lanes, lane), 0, lane + 1);
            },
            type.modulus);
         // The first invocation of an exclusive scan gets an identity that depends on the type.
         expect_model(
            size, type.glsl, expression("Exclusive"), activity.condition, activity.active,
            values_for(op),
            [&](const Lanes &lanes, uint32_t lane) -> std::optional<Value> {
               const Lanes before = partition(lanes, lane);
               const bool first =
                  std::none_of(before.begin(), before.begin() + lane, [](auto &x) { return x; });
               return first && std::abs(op.identity) == 127
                         ? std::nullopt
                         : std::optional(reduce(op, before, 0, lane));
            },
            type.modulus);
      });
}

namespace {

/// An operation that moves values between invocations.
struct Movement {
   const char *expression;
   VkSubgroupFeatureFlagBits needs;
   /// The invocation whose x is the result; nothing if undefined.
   std::function<std::optional<uint32_t>(const Lanes &, uint32_t lane, uint32_t size)> origin;
};

const std::vector<Movement> &movements()
{
   const auto shuffle = VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
   const auto relative = VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT;
   const auto ballot = VK_SUBGROUP_FEATURE_BALLOT_BIT;
   const auto quad = VK_SUBGROUP_FEATURE_QUAD_BIT;
   using Origin = std::optional<uint32_t>;
   static const std::vector<Movement> all = {
      {"subgroupShuffle(x, (lane * 5u + 3u) % gl_SubgroupSize)", shuffle,
       [](const Lanes &, uint32_t lane, uint32_t size) -> Origin { return (lane * 5 + 3) % size; }},
      {"subgroupShuffle(x, push.x)", shuffle,
       [](const Lanes &, uint32_t, uint32_t) -> Origin { return 0; }},
      {"subgroupShuffleXor(x, 1u)", shuffle,
       [](const Lanes &, uint32_t lane, uint32_t) -> Origin { return lane ^ 1; }},
      {"subgroupShuffleXor(x, gl_SubgroupSize / 2u)", shuffle,
       [](const Lanes &, uint32_t lane, uint32_t size) -> Origin { return lane ^ (size / 2); }},
      {"subgroupShuffleUp(x, 3u)", relative,
       [](const Lanes &, uint32_t lane, uint32_t) -> Origin {
          return lane < 3 ? Origin() : lane - 3;
       }},
      {"subgroupShuffleDown(x, 2u)", relative,
       [](const Lanes &, uint32_t lane, uint32_t size) -> Origin {
          return lane + 2 < size ? Origin(lane + 2) : Origin();
       }},
      {"subgroupBroadcast(x, 3u)", ballot,
       [](const Lanes &, uint32_t, uint32_t) -> Origin { return 3; }},
      {"subgroupBroadcastFirst(x)", ballot,
       [](const Lanes &lanes, uint32_t, uint32_t) -> Origin {
          for (uint32_t i = 0; i < lanes.size(); i++) {
             if (lanes[i])
                return i;
          }
          return std::nullopt;
       }},
      {"subgroupQuadBroadcast(x, 2u)", quad,
       [](const Lanes &, uint32_t lane, uint32_t) -> Origin { return lane / 4 * 4 + 2; }},
      {"subgroupQuadSwapHorizontal(x)", quad,
       [](const Lanes &, uint32_t lane, uint32_t) -> Origin { return lane ^ 1; }},
      {"subgroupQuadSwapVertical(x)", quad,
       [](const Lanes &, uint32_t lane, uint32_t) -> Origin { return lane ^ 2; }},
      {"subgroupQuadSwapDiagonal(x)", quad,
       [](const Lanes &, uint32_t lane, uint32_t) -> Origin { return lane ^ 3; }},
   };
   return all;
}

/// LLVM 15 cannot select two instructions of Mesa 22.3's lavapipe, for SPIR-V of any compiler:
/// broadcasts of floats (where it optimizes), and 64 bits from invocations further down.
bool crashes(const Device &device, const Movement &movement, const TypeCase &type)
{
   const bool has_64_bits = strstr(type.glsl, "64") || strcmp(type.glsl, "double") == 0;
   return strstr(device.properties.deviceName, "LLVM 15") &&
          ((type.is_float && strcmp(movement.expression, "subgroupBroadcastFirst(x)") == 0) ||
           (has_64_bits && strcmp(movement.expression, "subgroupShuffleUp(x, 3u)") == 0));
}

} // namespace

TEST(Subgroup, Movements)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (const Movement &movement : movements()) {
      if (!offers(movement.needs))
         continue;
      for (const TypeCase &type : types(device)) {
         if (crashes(device, movement, type)) {
            skip_case("crashes in LLVM 15 below lavapipe");
            continue;
         }
         for (uint32_t size : device.subgroup_sizes()) {
            const Activity &activity = oracle::draw(random, 2) ? everyone : some;
            if (!selected(random, 8))
               continue;
            expect_model(
               size, type.glsl, movement.expression, activity.condition, activity.active,
               [](oracle::Random &r) { return Value(oracle::draw(r, 100)); },
               [&](const Lanes &lanes, uint32_t lane) -> std::optional<Value> {
                  const std::optional<uint32_t> origin = movement.origin(lanes, lane, size);
                  return origin ? lanes[*origin] : std::nullopt;
               },
               type.modulus);
            if (HasFailure())
               return;
         }
      }
   }
}

TEST(Subgroup, Rotations)
{
   Device &device = plain_device();
   if (!device.has_extension(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME)) {
      skip_case("needs VK_KHR_shader_subgroup_rotate");
      GTEST_SKIP();
   }
   for (uint32_t size : device.subgroup_sizes()) {
      for (uint32_t delta : {0u, 1u, 5u, size - 1}) {
         expect_model(
            size, "int", "subgroupRotate(x, " + std::to_string(delta) + "u)", "true",
            [](uint32_t) { return true; },
            [](oracle::Random &r) { return Value(oracle::draw(r, 100)); },
            [&](const Lanes &lanes, uint32_t lane) { return lanes[(lane + delta) % size]; },
            Value(1) << 32);
      }
   }
}

TEST(Subgroup, VotesAndBallots)
{
   if (!offers(VK_SUBGROUP_FEATURE_VOTE_BIT) || !offers(VK_SUBGROUP_FEATURE_BALLOT_BIT))
      GTEST_SKIP();
   const auto odd = [](Value x) { return x % 2 != 0; };
   const auto count_if = [](const Lanes &lanes, uint32_t end, auto predicate) {
      Value count = 0;
      for (uint32_t i = 0; i < end; i++)
         count += lanes[i] && predicate(*lanes[i]);
      return count;
   };
   struct Question {
      const char *expression;
      std::function<Value(const Lanes &, uint32_t)> answer;
   };
   const auto active_count = [&](const Lanes &lanes) {
      return count_if(lanes, uint32_t(lanes.size()), [](Value) { return true; });
   };
   const auto odd_count = [&](const Lanes &lanes, uint32_t end) {
      return count_if(lanes, end, odd);
   };
   const auto nth_odd = [&](const Lanes &lanes, bool last) -> Value {
      Value found = 0;
      for (uint32_t i = 0; i < lanes.size(); i++) {
         if (lanes[i] && odd(*lanes[i])) {
            found = i;
            if (!last)
               return found;
         }
      }
      return found;
   };
   const Question questions[] = {
      {"subgroupAll(x % 2 != 0)",
       [&](const Lanes &l, uint32_t) {
          return Value(odd_count(l, uint32_t(l.size())) == active_count(l));
       }},
      {"subgroupAny(x % 2 != 0)",
       [&](const Lanes &l, uint32_t) { return Value(odd_count(l, uint32_t(l.size())) > 0); }},
      {"subgroupAllEqual(x)",
       [&](const Lanes &l, uint32_t lane) {
          return Value(count_if(l, uint32_t(l.size()), [&](Value x) { return x == *l[lane]; }) ==
                       active_count(l));
       }},
      {"subgroupBallotBitCount(subgroupBallot(x % 2 != 0))",
       [&](const Lanes &l, uint32_t) { return odd_count(l, uint32_t(l.size())); }},
      {"subgroupBallotInclusiveBitCount(subgroupBallot(x % 2 != 0))",
       [&](const Lanes &l, uint32_t lane) { return odd_count(l, lane + 1); }},
      {"subgroupBallotExclusiveBitCount(subgroupBallot(x % 2 != 0))",
       [&](const Lanes &l, uint32_t lane) { return odd_count(l, lane); }},
      {"subgroupInverseBallot(subgroupBallot(x % 2 != 0))",
       [&](const Lanes &l, uint32_t lane) { return Value(odd(*l[lane])); }},
      {"subgroupBallotBitExtract(subgroupBallot(x % 2 != 0), (lane * 7u) % gl_SubgroupSize)",
       [&](const Lanes &l, uint32_t lane) {
          const auto &other = l[lane * 7 % l.size()];
          return Value(other && odd(*other));
       }},
      {"subgroupAny(x % 2 != 0) ? subgroupBallotFindLSB(subgroupBallot(x % 2 != 0)) : 0",
       [&](const Lanes &l, uint32_t) { return nth_odd(l, false); }},
      {"subgroupAny(x % 2 != 0) ? subgroupBallotFindMSB(subgroupBallot(x % 2 != 0)) : 0",
       [&](const Lanes &l, uint32_t) { return nth_odd(l, true); }},
      {"subgroupElect()",
       [&](const Lanes &l, uint32_t lane) {
          return Value(count_if(l, lane, [](Value) { return true; }) == 0);
       }},
      {"bitCount((subgroupBallot(true) & gl_SubgroupLtMask).x) + bitCount((subgroupBallot(true) & "
       "gl_SubgroupLtMask).y)",
       [&](const Lanes &l, uint32_t lane) {
          return count_if(l, lane, [](Value) { return true; });
       }},
      {"bitCount((subgroupBallot(true) & gl_SubgroupGeMask).x) + bitCount((subgroupBallot(true) & "
       "gl_SubgroupGeMask).y)",
       [&](const Lanes &l, uint32_t lane) {
          return active_count(l) - count_if(l, lane, [](Value) { return true; });
       }},
      {"gl_SubgroupSize * 100u + lane",
       [&](const Lanes &l, uint32_t lane) { return Value(l.size() * 100 + lane); }},
   };
   Device &device = plain_device();
   for (uint32_t size : device.subgroup_sizes()) {
      for (const Question &question : questions) {
         for (const Activity *activity : {&everyone, &some}) {
            for (uint32_t range : {2u, 1u}) {
               expect_model(
                  size, "int", question.expression, activity->condition, activity->active,
                  [&](oracle::Random &r) { return Value(1 + 2 * oracle::draw(r, range) / 2); },
                  question.answer, Value(1) << 32);
               if (HasFailure())
                  return;
            }
         }
      }
   }
}

/// A loop whose number of iterations differs: each iteration counts the remaining invocations.
TEST(Subgroup, OperationsInDivergentLoops)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (uint32_t size : device.subgroup_sizes()) {
      SCOPED_TRACE("subgroup size " + std::to_string(size));
      std::vector<uint32_t> source(4 * size);
      for (uint32_t &x : source)
         x = oracle::draw(random, 20);
      const ComputeShader shader = {.source_type = "uint",
                                    .target_type = "uint",
                                    .declarations = "",
                                    .body = R"(   uint sum = 0;
   for (uint i = 0; i < source.data[id]; i++) {
      if (i % 4 == gl_SubgroupInvocationID % 4)
         continue;
      sum += subgroupAdd(1u) * (i + 1u);
   }
   target.data[id] = sum;
)",
                                    .local_size = size,
                                    .groups = 4,
                                    .subgroup_size = size};
      const std::vector<uint32_t> target =
         run_compute<uint32_t>(device, shader, source, source.size());
      for (uint32_t id = 0; id < source.size(); id++) {
         uint32_t expected = 0;
         for (uint32_t i = 0; i < source[id]; i++) {
            if (i % 4 == id % size % 4)
               continue;
            uint32_t present = 0;
            for (uint32_t lane = 0; lane < size; lane++)
               present += i < source[id / size * size + lane] && i % 4 != lane % 4;
            expected += present * (i + 1);
         }
         ASSERT_EQ(target[id], expected) << "invocation " << id;
      }
   }
}

} // namespace weft::e2e
