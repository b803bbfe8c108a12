// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shaders whose guards fail in some subgroups (guard_plan.h). Each has an oracle; effects before a
/// failing guard are sums in place, so that an effect that happens twice is seen.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"
#include "tests/scratch_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <regex>
#include <set>
#include <thread>

#include <sys/stat.h>

namespace weft::cpu {
namespace {

constexpr uint32_t groups = 40, local_size = 64, steps = 6, invocations = groups * local_size;

/// The numbers of a buffer; those outside are 0.
class Numbers : public std::vector<uint32_t> {
public:
   using vector::vector;
   uint32_t at(size_t i) const { return i < size() ? (*this)[i] : 0; }
};

/// `a` is read, `b` is read and written.
struct Buffers {
   Numbers a, b;
};

struct Shader {
   const char *name;
   const char *body; ///< of main(); `i` is the invocation
   std::function<void(Buffers &, uint32_t i)> oracle;
   bool leaves;
   uint32_t size = local_size; ///< of a workgroup
};

/// The sum of two strided numbers of a step.
uint32_t pair(const Buffers &x, uint32_t i, uint32_t k)
{
   return x.a.at((k * invocations + i) * 3) * 5 + x.a.at((k * invocations + i) * 2 + 1);
}

const Shader shaders[] = {
   {"ALoop",
    R"(uint sum = 0;
       for (uint k = 0; k < steps; k++) sum = sum * 3 + pair(i, k);
       b[i] += sum;)",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < steps; k++)
          sum = sum * 3 + pair(x, i, k);
       x.b[i] += sum;
    },
    true},
   {"RowsOfARing",
    R"(uint sum = 0;
       for (uint k = 0; k < steps; k++) {
          uint place = i + gl_WorkGroupID.x + 7 * k;
          sum = sum * 3 + a[place & 255] * 5 + a[(place + 100) & 127];
       }
       b[i] += sum;)",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < steps; k++) {
          const uint32_t place = i + i / local_size + 7 * k;
          sum = sum * 3 + x.a.at(place & 255) * 5 + x.a.at((place + 100) & 127);
       }
       x.b[i] += sum;
    },
    true},
   {"TheFirstSubgroups",
    R"(uint j = (invocations / 64 - 1 - gl_WorkGroupID.x) * 64 + gl_LocalInvocationID.x;
       b[i] += pair(j, steps - 1);)",
    [](Buffers &x, uint32_t i) {
       const uint32_t j = (groups - 1 - i / local_size) * local_size + i % local_size;
       x.b[i] += pair(x, j, steps - 1);
    },
    true},
   {"PrivateMemory",
    R"(uint own[8];
       for (uint k = 0; k < 8; k++) own[k] = i ^ k;
       for (uint k = 0; k < steps; k++) own[(i + k) % 8] += pair(i, k);
       uint sum = 0;
       for (uint k = 0; k < 8; k++) sum = sum * 3 + own[(i * k + sum) % 8];
       b[i] += sum;)",
    [](Buffers &x, uint32_t i) {
       uint32_t own[8], sum = 0;
       for (uint32_t k = 0; k < 8; k++)
          own[k] = i ^ k;
       for (uint32_t k = 0; k < steps; k++)
          own[(i + k) % 8] += pair(x, i, k);
       for (uint32_t k = 0; k < 8; k++)
          sum = sum * 3 + own[(i * k + sum) % 8];
       x.b[i] += sum;
    },
    true},
   {"SidesOfAUniformIf",
    R"(if (gl_WorkGroupID.x % 2 == 0) {
          b[i] += 7;
       } else {
          uint sum = 0;
          for (uint k = 0; k < steps; k++) sum = sum * 3 + pair(i, k);
          b[i] += sum;
       })",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < steps; k++)
          sum = sum * 3 + pair(x, i, k);
       x.b[i] += i / local_size % 2 == 0 ? 7 : sum;
    },
    true},
   {"SidesOfADivergentIf",
    R"(if (a[i] % 2 == 0) {
          b[i] += 7;
       } else {
          uint sum = 0;
          for (uint k = 0; k < steps; k++) sum = sum * 3 + pair(i, k);
          b[i + invocations] += sum;
       })",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < steps; k++)
          sum = sum * 3 + pair(x, i, k);
       x.a.at(i) % 2 == 0 ? x.b[i] += 7 : x.b[i + invocations] += sum;
    },
    false},
   {"AStoreBefore",
    R"(b[i] += 7;
       if (steps > 1) b[i + invocations] += pair(i, gl_WorkGroupID.x % steps);)",
    [](Buffers &x, uint32_t i) {
       x.b[i] += 7;
       x.b[i + invocations] += pair(x, i, i / local_size % steps);
    },
    false},
   {"AStoreInTheLoop", R"(for (uint k = 0; k < steps; k++) b[i + k * invocations] += pair(i, k);)",
    [](Buffers &x, uint32_t i) {
       for (uint32_t k = 0; k < steps; k++)
          x.b[i + k * invocations] += pair(x, i, k);
    },
    false},
   {"AnAtomicBefore",
    R"(atomicAdd(b[i / 8], 1);
       b[i + invocations] += pair(i, gl_WorkGroupID.x % steps);)",
    [](Buffers &x, uint32_t i) {
       x.b[i / 8] += 1;
       x.b[i + invocations] += pair(x, i, i / local_size % steps);
    },
    false},
   {"Barriers",
    R"(uint sum = 0;
       for (uint k = 0; k < steps; k++) sum = sum * 3 + pair(i, k);
       lines[gl_LocalInvocationIndex] = sum;
       barrier();
       b[i] += lines[63 - gl_LocalInvocationIndex];)",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < steps; k++)
          sum = sum * 3 + pair(x, i ^ 63, k);
       x.b[i] += sum;
    },
    true},
   {"BetweenBarriers",
    R"(uint sum = 0;
       for (uint k = 0; k < steps; k++) {
          lines[gl_LocalInvocationIndex] = sum + i;
          barrier();
          sum = lines[63 - gl_LocalInvocationIndex] * 3 + pair(i, k);
          barrier();
       }
       b[i] += sum;)",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0, other = 0;
       for (uint32_t k = 0; k < steps; k++) {
          const uint32_t before = sum;
          sum = (other + (i ^ 63)) * 3 + pair(x, i, k);
          other = (before + i) * 3 + pair(x, i ^ 63, k);
       }
       x.b[i] += sum;
    },
    true},
   {"BesideStoresOfOtherSubgroups",
    R"(lines[gl_LocalInvocationIndex] = i;
       barrier();
       uint sum = lines[63 - gl_LocalInvocationIndex];
       for (uint k = 0; k < steps; k++) sum = sum * 3 + pair(i, k);
       b[i] += sum;)",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = i ^ 63;
       for (uint32_t k = 0; k < steps; k++)
          sum = sum * 3 + pair(x, i, k);
       x.b[i] += sum;
    },
    false},
   {"OneSubgroupWithBarriers",
    R"(uint sum = 0;
       for (uint k = 0; k < steps; k++) sum = sum * 3 + pair(i, k);
       lines[gl_LocalInvocationIndex] = sum;
       barrier();
       b[i] += lines[7 - gl_LocalInvocationIndex];)",
    [](Buffers &x, uint32_t i) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < steps; k++)
          sum = sum * 3 + pair(x, i ^ 7, k);
       x.b[i] += sum;
    },
    true, 8},
};

std::string glsl_of(const Shader &shader)
{
   const auto number = [](const char *name, uint32_t value) {
      return "const uint " + std::string(name) + " = " + std::to_string(value) + ";\n";
   };
   // The loops stay, and the first block, which has the constants, has no guard.
   return number("invocations", invocations) +
          "layout(local_size_x = " + std::to_string(shader.size) + R"() in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
shared uint lines[64];
uint pair(uint i, uint k)
{
   return a[(k * invocations + i) * 3] * 5 + a[(k * invocations + i) * 2 + 1];
}
void main()
{
   const uint i = gl_GlobalInvocationID.x, steps = gl_NumWorkGroups.y * )" +
          std::to_string(steps) + R"(;
   if (gl_NumWorkGroups.z == 1) {
      )" + shader.body +
          R"(
   }
}
)";
}

/// The bytes of a buffer for a shader.
std::span<std::byte> bytes_of(Numbers &numbers)
{
   return std::as_writable_bytes(std::span(numbers));
}

class LeavingGuards : public testing::TestWithParam<Shader> {
protected:
   Numbers random_numbers(size_t count)
   {
      Numbers numbers(count);
      std::ranges::generate(numbers, [&] { return uint32_t(random()); });
      return numbers;
   }

   /// Runs a program on a buffer `a` of a size.
   void expect_right(const Program &program, Executor &executor, size_t size)
   {
      const Shader &shader = GetParam();
      Buffers expected = {random_numbers(size), random_numbers(steps * invocations)},
              found = expected;
      for (uint32_t i = 0; i < invocations; i++)
         shader.oracle(expected, i);
      ASSERT_TRUE(run_shader(executor, program, {bytes_of(found.a), bytes_of(found.b)},
                             {invocations / shader.size, 1, 1}));
      const auto differs = std::ranges::mismatch(found.b, expected.b);
      EXPECT_TRUE(differs.in1 == found.b.end())
         << "number " << differs.in1 - found.b.begin() << ", " << size << " in a";
   }

   /// Sizes of `a` by which guards fail nowhere, in the last subgroup, in the last steps, in all.
   static constexpr size_t whole = size_t(steps) * invocations * 7;
   static constexpr size_t sizes[] = {whole,
                                      size_t(steps) * invocations * 3 - 5,
                                      size_t(steps) * invocations * 3 - 3 * 70,
                                      size_t(steps - 1) * invocations * 3 + 50,
                                      size_t(steps) * invocations,
                                      70,
                                      1};

   std::mt19937_64 random{test::test_seed()};
};

TEST_P(LeavingGuards, AreThoseBeforeAnEffect)
{
   CompileOptions options;
   options.subgroup_size = 8;
   const std::string plans = dump_of_shader(glsl_of(GetParam()), 2, "accesses", options);
   EXPECT_NE(plans.find("guard"), std::string::npos) << plans;
   // Guards of a single load are before the effects.
   EXPECT_EQ(std::regex_search(plans, std::regex("guard %[0-9]+ %[^;\n]*; leaves")),
             GetParam().leaves)
      << plans;
}

TEST_P(LeavingGuards, HaveNoEffectTwice)
{
   for (const uint32_t W : {8, 32}) {
      for (const uint32_t threads : {1, 3}) {
         for (const size_t size : sizes) {
            // A new program, because programs learn from earlier dispatches.
            const auto program = compile_shader(glsl_of(GetParam()), W, 2);
            ASSERT_TRUE(program) << program.error().message;
            Executor executor(threads);
            expect_right(**program, executor, size);
            expect_right(**program, executor, whole);
            if (testing::Test::HasFailure())
               FAIL() << "W " << W << ", " << threads << " threads";
         }
      }
   }
}

/// The first failure is in several executors at once.
TEST_P(LeavingGuards, FailOnSeveralThreads)
{
   const auto program = compile_shader(glsl_of(GetParam()), 32, 2);
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_TRUE((*program)->plain() || !GetParam().leaves);
   std::vector<std::thread> threads;
   const std::vector<uint32_t> seeds = {uint32_t(random()), uint32_t(random()), uint32_t(random())};
   const Shader &shader = GetParam();
   for (const uint32_t seed : seeds) {
      threads.emplace_back([&, seed] {
         Executor executor(2);
         Numbers a(sizes[1], seed), b(steps * invocations, seed);
         Buffers expected = {a, b};
         for (uint32_t i = 0; i < invocations; i++)
            shader.oracle(expected, i);
         EXPECT_TRUE(run_shader(executor, **program, {bytes_of(a), bytes_of(b)},
                                {invocations / shader.size, 1, 1}));
         EXPECT_TRUE(std::ranges::equal(b, expected.b));
      });
   }
   for (std::thread &thread : threads)
      thread.join();
}

INSTANTIATE_TEST_SUITE_P(Shaders, LeavingGuards, testing::ValuesIn(shaders),
                         [](const auto &tested) { return tested.param.name; });

/// The programs of one shader in a cache.
class CachedLeavingGuards : public testing::Test {
protected:
   CachedLeavingGuards() { options.bindings = buffer_bindings(2); }

   std::shared_ptr<const Program> program_of(const Result<std::shared_ptr<Programs>> &programs)
   {
      if (!programs || !*programs)
         return nullptr;
      const auto &program = (*programs)->program_for({}).get();
      EXPECT_TRUE(program);
      return program ? *program : nullptr;
   }
   std::shared_ptr<const Program> get(bool may_compile)
   {
      auto programs = compile_cached(&cache, {spirv, "main", {}}, options, may_compile);
      EXPECT_TRUE(programs) << programs.error().message;
      all.push_back(*programs);
      return program_of(programs);
   }

   /// A guard fails.
   static void expect_right(const Program &program)
   {
      Buffers expected = {Numbers(1000, 3), Numbers(steps * invocations, 4)}, found = expected;
      for (uint32_t i = 0; i < invocations; i++)
         shaders[0].oracle(expected, i);
      Executor executor(1);
      ASSERT_TRUE(
         run_shader(executor, program, {bytes_of(found.a), bytes_of(found.b)}, {groups, 1, 1}));
      EXPECT_EQ(found.b, expected.b);
   }

   /// The inodes of the cache's files; a file that is written again gets another one.
   std::set<ino_t> files() const
   {
      std::set<ino_t> found;
      for (const auto &entry : std::filesystem::recursive_directory_iterator(folder.path)) {
         struct stat status;
         if (entry.is_regular_file() && stat(entry.path().c_str(), &status) == 0)
            found.insert(status.st_ino);
      }
      return found;
   }

   weft::test::ScratchFolder folder;
   DiskCache cache{folder.path / "cache", 1 << 24};
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl_of(shaders[0]));
   CompileOptions options;
   std::vector<std::shared_ptr<Programs>> all;
};

TEST_F(CachedLeavingGuards, FindPlainPrograms)
{
   const std::shared_ptr<const Program> compiled = get(true);
   ASSERT_TRUE(compiled && compiled->plain());
   EXPECT_EQ(files().size(), 1u) << "the plain program was compiled too early";
   expect_right(*compiled);
   const auto written = files();
   EXPECT_EQ(written.size(), 2u);

   const std::shared_ptr<const Program> cached = get(false);
   ASSERT_TRUE(cached && cached->plain());
   EXPECT_EQ(cached->serialize(), compiled->serialize());
   expect_right(*cached);
   const auto &plain = cached->plain()->get().get();
   ASSERT_TRUE(plain);
   EXPECT_FALSE((*plain)->plain());
   EXPECT_EQ((*plain)->serialize(), (*compiled->plain()->get().get())->serialize());
   EXPECT_EQ(files(), written) << "the plain program was compiled again";
}

TEST_F(CachedLeavingGuards, ComeBackFromBytes)
{
   const std::shared_ptr<const Program> compiled = get(true);
   ASSERT_TRUE(compiled);
   const std::vector<std::byte> bytes = all[0]->serialize();
   EXPECT_EQ(bytes, compiled->serialize());
   const auto alone = deserialize(bytes);
   ASSERT_TRUE(alone) << alone.error().message;
   expect_right(**alone);
   const auto programs = deserialize_programs(bytes, nullptr, {});
   ASSERT_TRUE(programs) << programs.error().message;
   expect_right(*program_of(programs));
   for (size_t length = 0; length < bytes.size(); length += 97)
      EXPECT_FALSE(deserialize(std::span(bytes).first(length)));
   for (size_t at = 0; at < bytes.size(); at += 311) {
      std::vector<std::byte> flipped = bytes;
      flipped[at] ^= std::byte(16);
      EXPECT_FALSE(deserialize(flipped));
   }
}

} // namespace
} // namespace weft::cpu
