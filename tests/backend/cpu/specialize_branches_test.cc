// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs without the sides of branches that their dispatches do not take, and the programs of
/// whole shaders for a sequence of dispatches.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

namespace weft::cpu {
namespace {

/// Branches around loops, barriers and further branches, also inside of loops. A dispatch decides
/// some of them.
const char *const branchy = R"(
layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { uint n, mode; float scale; uint rows; } push;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
shared uint sums[64];
uint mix_up(uint x, uint times)
{
   for (uint i = 0; i < times; i++)
      x = x * 1664525u + 1013904223u + (x >> 7);
   return x;
}
void main()
{
   const uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
   const uint first_row = 2 * (gl_WorkGroupID.x + gl_NumWorkGroups.x * gl_WorkGroupID.y);
   uint x = data[i] + first_row;
   if (push.mode == 0) {
      x = mix_up(x, 3);
   } else if (push.mode < 3) {
      for (uint k = 0; k < push.n; k++) {
         if (push.scale != 1.5)
            x += mix_up(k, 2);
         else
            x ^= data[l] + k;
         if (x % 5 == push.mode)
            break;
      }
   } else {
      sums[l] = x;
      barrier();
      x += sums[(l + 17) % 64];
      barrier();
      if (push.scale == 0.25 || x % 2 == 0)
         x = mix_up(x, push.n);
   }
   if (first_row + 2 <= push.rows)
      x += mix_up(l, 2);
   else if (first_row < push.rows)
      x += 3;
   data[i] = x;
}
)";

struct Push {
   uint32_t n, mode;
   float scale;
   uint32_t rows;
};

class SpecializeBranches : public testing::Test {
protected:
   SpecializeBranches() : spirv(e2e::compile_glsl(e2e::glsl_header + std::string(branchy))) {}

   runner::Dispatch dispatch(const Push &push, uint32_t groups) const
   {
      runner::Dispatch d;
      d.source = {spirv, "main", {}};
      d.push_constants.resize(sizeof(push));
      memcpy(d.push_constants.data(), &push, sizeof(push));
      d.workgroups = {groups, 1, 1};
      d.buffers = {{{0, 0}, std::vector<std::byte>(groups * 64 * 4)}};
      for (size_t i = 0; i < d.buffers[0].bytes.size(); i++)
         d.buffers[0].bytes[i] = std::byte(i * 7);
      return d;
   }

   std::vector<uint32_t> spirv;
};

TEST_F(SpecializeBranches, ComputesTheSame)
{
   const uint64_t seed = test::test_seed();
   std::mt19937 random{uint32_t(seed)};
   const auto one_of = [&](auto... values) {
      const std::common_type_t<decltype(values)...> list[] = {values...};
      return list[random() % sizeof...(values)];
   };
   std::set<std::string> compiled;
   for (int i = 0; i < 24; i++) {
      const Push push = {one_of(0u, 1u, 7u), one_of(0u, 1u, 2u, 3u, 9u), one_of(1.5f, 0.25f, 2.f),
                         one_of(0u, 1u, 5u, 6u, 100u)};
      const runner::Dispatch d = dispatch(push, 1 + uint32_t(random() % 4));
      runner::Path path = {.subgroup_size = one_of(16u, 32u)};
      const auto expected = runner::run(d, path);
      path.specialized = true;
      std::string nir;
      const auto found =
         runner::run(d, path, {.dump = [&](const char *phase, const std::string &text) {
                        if (std::string("nir") == phase)
                           nir = text;
                     }});
      ASSERT_TRUE(expected) << expected.error().message;
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ((*found)[0].bytes, (*expected)[0].bytes)
         << "seed " << seed << ": n " << push.n << ", mode " << push.mode << ", scale "
         << push.scale << ", rows " << push.rows << ", groups " << d.workgroups[0];
      compiled.insert(nir);
   }
   EXPECT_GT(compiled.size(), 8u);
}

size_t barriers(const std::string &nir)
{
   return count(nir, "@barrier");
}

TEST_F(SpecializeBranches, LeavesOutWhatIsNotTaken)
{
   const auto nir = [&](const Push &push, bool specialized) {
      std::string text;
      const auto result = runner::run(dispatch(push, 2), {.specialized = specialized},
                                      {.dump = [&](const char *phase, const std::string &t) {
                                         if (std::string("nir") == phase)
                                            text = t;
                                      }});
      EXPECT_TRUE(result);
      return text;
   };
   EXPECT_EQ(barriers(nir({1, 0, 0, 0}, false)), 2u);
   EXPECT_EQ(barriers(nir({1, 0, 0, 0}, true)), 0u);
   EXPECT_EQ(barriers(nir({1, 3, 0, 0}, true)), 2u);
   const std::string first = nir({1, 0, 0, 100}, true);
   EXPECT_EQ(first.find("loop"), std::string::npos);
   EXPECT_EQ(first.find("if "), std::string::npos);
   EXPECT_NE(nir({1, 0, 0, 3}, true).find("if "), std::string::npos) << "one workgroup of two";
}

/// The value of a push constant is known where a dispatch has compared it with a constant.
TEST(SpecializeBranchesOfValues, EqualPushConstantsAreConstants)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + std::string(R"(
      layout(local_size_x = 32) in;
      layout(push_constant) uniform Push { uint mode; } push;
      layout(set = 0, binding = 0) buffer Data { uint data[]; };
      void main()
      {
         uint x = data[gl_LocalInvocationIndex];
         if (push.mode == 2) {
            for (uint i = 0; i < x % 16; i++)
               x = x * 77 + (x >> 3);
         }
         data[gl_LocalInvocationIndex] = x * push.mode;
      })"));
   const auto loads = [&](uint32_t mode) {
      runner::Dispatch d;
      d.source = {spirv, "main", {}};
      d.push_constants.resize(4);
      memcpy(d.push_constants.data(), &mode, 4);
      d.workgroups = {1, 1, 1};
      d.buffers = {{{0, 0}, std::vector<std::byte>(32 * 4, std::byte(7))}};
      std::string nir;
      const auto dump = [&](const char *phase, const std::string &text) {
         if (std::string("nir") == phase)
            nir = text;
      };
      const auto found = runner::run(d, {.specialized = true}, {.dump = dump});
      const auto expected = runner::run(d, {});
      EXPECT_TRUE(found && expected && (*found)[0].bytes == (*expected)[0].bytes);
      return count(nir, "@load_push_constant");
   };
   EXPECT_EQ(loads(2), 0u);
   EXPECT_EQ(loads(3), 1u);
}

/// Like a product whose neighbouring workgroups share loads: 32 along the columns of A, then the
/// next 32.
TEST(SpecializeBranchesOfTiles, KnowsQuotientsAndRemainders)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + std::string(R"(
      layout(local_size_x = 32) in;
      layout(push_constant) uniform Push { uint m, n; } push;
      layout(set = 0, binding = 0) buffer Data { uint data[]; };
      void main()
      {
         const uint blocks = (push.m + 31) / 32, width = min(blocks, 32), tall = (push.n + 63) / 64;
         const uint stripe = gl_WorkGroupID.x / (width * tall);
         const uint in_stripe = gl_WorkGroupID.x - stripe * width * tall;
         const uint left = min(blocks - stripe * width, width);
         const uint row = 32 * (stripe * width + in_stripe % left), column = 64 * (in_stripe / left);
         const uint place = (row + gl_LocalInvocationIndex) + push.m * column;
         if (row + 32 <= push.m && column + 64 <= push.n)
            data[place] = 1;
         else if (row + gl_LocalInvocationIndex < push.m && column < push.n)
            data[place] = 2;
      })"));
   const auto branches = [&](uint32_t m, uint32_t n) {
      runner::Dispatch d;
      d.source = {spirv, "main", {}};
      const uint32_t push[] = {m, n};
      d.push_constants.resize(sizeof(push));
      memcpy(d.push_constants.data(), push, sizeof(push));
      d.workgroups = {(m + 31) / 32 * ((n + 63) / 64), 1, 1};
      d.buffers = {{{0, 0}, std::vector<std::byte>(m * n * 4)}};
      std::string nir;
      const auto dump = [&](const char *phase, const std::string &text) {
         if (std::string("nir") == phase)
            nir = text;
      };
      const auto found = runner::run(d, {.specialized = true}, {.dump = dump});
      const auto expected = runner::run(d, {});
      EXPECT_TRUE(found && expected && (*found)[0].bytes == (*expected)[0].bytes);
      return nir.find("if ") != std::string::npos;
   };
   EXPECT_FALSE(branches(1024, 64));
   EXPECT_FALSE(branches(2048, 64));
   EXPECT_FALSE(branches(8192, 64));
   EXPECT_FALSE(branches(1024, 128));
   EXPECT_TRUE(branches(2040, 64));
   EXPECT_TRUE(branches(64, 65));
}

/// A shader with several branches, each side large enough for its own program.
std::string shader_of_ways(const std::string &ways)
{
   return R"(
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint way; } push;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main()
{
   uint x = data[gl_GlobalInvocationID.x];
   const uint own = gl_LocalInvocationIndex;
#define STEP(n, i) x = (x ^ (own + i)) * (2 * n + 1) + (x >> (n + 1));
#define STEPS(n, i) STEP(n, i) STEP(n, i + 1) STEP(n, i + 2) STEP(n, i + 3)
#define WAY(n) { STEPS(n, 0) STEPS(n, 4) STEPS(n, 8) STEPS(n, 12) STEPS(n, 16) }
)" + ways +
          R"(
   data[gl_GlobalInvocationID.x] = x;
}
)";
}

/// Ten ways.
std::string many_ways()
{
   std::string ways;
   for (uint32_t n = 0; n < 9; n++) {
      const std::string N = std::to_string(n);
      ways += (n ? "else if (push.way == " : "if (push.way == ") + N + ") WAY(" + N + ")\n";
   }
   return shader_of_ways(ways);
}

class ProgramsOfWays : public testing::Test {
protected:
   ProgramsOfWays() : spirv(e2e::compile_glsl(e2e::glsl_header + many_ways()))
   {
      options.bindings = buffer_bindings(1);
   }

   std::shared_ptr<Programs> get(bool may_compile)
   {
      auto programs = compile_cached(&cache, {spirv, "main", {}}, options, may_compile);
      EXPECT_TRUE(programs) << programs.error().message;
      return programs ? *programs : nullptr;
   }

   static std::shared_ptr<const Program> program_for(Programs &programs, uint32_t way,
                                                     uint32_t workgroups = 1)
   {
      const FutureProgram &future =
         programs.program_for({std::as_bytes(std::span(&way, 1)), {}, {workgroups, 1, 1}});
      EXPECT_TRUE(future.get()) << future.get().error().message;
      return future.get() ? *future.get() : nullptr;
   }

   static void expect_right(const Program &program, uint32_t way)
   {
      uint32_t data[32], expected[32];
      for (uint32_t own = 0; own < 32; own++) {
         uint32_t x = data[own] = own * 12345;
         for (uint32_t i = 0; i < 20 && way < 9; i++)
            x = (x ^ (own + i)) * (2 * way + 1) + (x >> (way + 1));
         expected[own] = x;
      }
      const BufferDescriptor descriptor = {reinterpret_cast<uint64_t>(data), sizeof(data)};
      DispatchState state = {};
      state.sets[0] = reinterpret_cast<const uint8_t *>(&descriptor);
      state.push_constants = reinterpret_cast<const uint8_t *>(&way);
      state.num_workgroups[0] = state.num_workgroups[1] = state.num_workgroups[2] = 1;
      Executor executor(1);
      ASSERT_TRUE(executor.dispatch(program, state, {1, 1, 1}));
      for (uint32_t own = 0; own < 32; own++)
         ASSERT_EQ(data[own], expected[own]) << "way " << way << ", invocation " << own;
   }

   size_t cached() const
   {
      size_t count = 0;
      for (const auto &entry : std::filesystem::recursive_directory_iterator(folder.path))
         count += entry.is_regular_file();
      return count;
   }

   weft::test::ScratchFolder folder;
   DiskCache cache{folder.path / "cache", 1 << 24};
   std::vector<uint32_t> spirv;
   CompileOptions options;
};

TEST_F(ProgramsOfWays, AreMadeForDispatchesAndStored)
{
   const std::shared_ptr<Programs> programs = get(true);
   ASSERT_TRUE(programs);
   EXPECT_EQ(programs->info().subgroups, 1u);
   const auto two = program_for(*programs, 2), five = program_for(*programs, 5);
   ASSERT_TRUE(two && five);
   EXPECT_NE(two, five);
   EXPECT_EQ(program_for(*programs, 2), two);
   expect_right(*two, 2);
   expect_right(*five, 5);
   const size_t files = cached();

   // Another process that must not compile finds the shader and its programs.
   const std::shared_ptr<Programs> again = get(false);
   ASSERT_TRUE(again);
   expect_right(*program_for(*again, 5), 5);
   EXPECT_EQ(program_for(*again, 2)->serialize(), two->serialize());
   EXPECT_EQ(cached(), files);
   expect_right(*program_for(*again, 7), 7);
   EXPECT_EQ(cached(), files + 1);
}

TEST_F(ProgramsOfWays, AreNotMoreThanAFew)
{
   const std::shared_ptr<Programs> programs = get(true);
   ASSERT_TRUE(programs);
   std::set<std::shared_ptr<const Program>> made;
   for (uint32_t way = 0; way < 12; way++) {
      const auto program = program_for(*programs, way);
      ASSERT_TRUE(program);
      expect_right(*program, way);
      made.insert(program);
   }
   // Eight of the ten ways have a program of their own.
   EXPECT_EQ(made.size(), 9u);
   expect_right(*program_for(*programs, 3), 3);
   // A dispatch without facts gets the program with all branches.
   const FutureProgram &any = programs->program_for({});
   ASSERT_TRUE(any.get());
   EXPECT_TRUE(made.contains(*any.get()));
   for (uint32_t way = 0; way < 10; way++)
      expect_right(**any.get(), way);
}

/// A program of both sides serves dispatches of one side too, but not the reverse.
TEST_F(ProgramsOfWays, OfBothSidesServeEither)
{
   // Workgroups below a number take one side, the others the other side.
   spirv = e2e::compile_glsl(e2e::glsl_header +
                             shader_of_ways("if (gl_WorkGroupID.x < push.way) WAY(1) else WAY(2)"));
   const std::shared_ptr<Programs> both_first = get(true), one_first = get(true);
   ASSERT_TRUE(both_first && one_first);
   const auto both = program_for(*both_first, 1, 2);
   EXPECT_EQ(program_for(*both_first, 2, 2), both);
   EXPECT_EQ(program_for(*both_first, 0, 2), both);
   const auto one = program_for(*one_first, 2, 2);
   EXPECT_NE(program_for(*one_first, 1, 2), one);
   EXPECT_NE(one->serialize(), both->serialize());
}

/// A small side that depends on the workgroup, such as a check of the edge, is in the first
/// program.
TEST_F(ProgramsOfWays, KeepSmallSides)
{
   std::string all;
   for (uint32_t n = 0; n < 12; n++)
      all += "WAY(" + std::to_string(n) + ")\n";
   const auto programs_of = [&](const std::string &condition) {
      spirv = e2e::compile_glsl(e2e::glsl_header +
                                shader_of_ways(all + "if (" + condition + ") WAY(12)"));
      const std::shared_ptr<Programs> programs = get(true);
      std::set<std::shared_ptr<const Program>> made;
      for (uint32_t way = 0; way < 3; way++)
         made.insert(program_for(*programs, way, 2));
      return made.size();
   };
   EXPECT_EQ(programs_of("gl_WorkGroupID.x < push.way"), 1u);
   EXPECT_EQ(programs_of("1 < push.way"), 2u);
}

TEST_F(ProgramsOfWays, ComeBackFromBytes)
{
   const std::shared_ptr<Programs> programs = get(true);
   ASSERT_TRUE(programs);
   const auto four = program_for(*programs, 4);
   const std::vector<std::byte> bytes = programs->serialize();
   const auto read = deserialize_programs(bytes, nullptr, {});
   ASSERT_TRUE(read) << read.error().message;
   EXPECT_EQ((*read)->info().subgroup_size, default_subgroup_size);
   EXPECT_EQ(program_for(**read, 4)->serialize(), four->serialize());
   expect_right(*program_for(**read, 6), 6);
   // Damaged programs are refused.
   for (size_t length = 0; length < bytes.size(); length += 97)
      EXPECT_FALSE(deserialize_programs(std::span(bytes).first(length), nullptr, {}));
   for (size_t at = 0; at < bytes.size(); at += 311) {
      std::vector<std::byte> flipped = bytes;
      flipped[at] ^= std::byte(16);
      EXPECT_FALSE(deserialize_programs(flipped, nullptr, {}));
   }
   EXPECT_FALSE(deserialize(bytes)) << "a shader is no program";
}

} // namespace
} // namespace weft::cpu
