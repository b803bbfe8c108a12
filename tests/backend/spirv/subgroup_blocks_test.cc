// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// For a driver without required subgroup sizes: a module's result in subgroups of any size, run on
/// this machine's CPU. The module mentions no subgroups.

#include "tests/backend/spirv/compiled.h"

#include "backend/spirv/words/spirv_text.h"
#include "tools/runner/runner.h"

#include <cstring>
#include <gtest/gtest.h>

namespace weft {
namespace {

using test::has;

constexpr uint32_t words = 8192;

const char *const head = R"(
   layout(binding = 0) buffer B { uint b[]; };
   layout(binding = 1) buffer F { float f[]; };
   layout(push_constant) uniform P { uint turns; };
   shared uint stage[64];
)";

spirv::CompileOptions blocks(uint32_t size)
{
   spirv::CompileOptions options = test::options_for(spirv::full_driver(), size);
   options.subgroups_are_blocks = true;
   options.max_shared_bytes = 32 << 10;
   return options;
}

std::vector<std::byte> numbers(bool floats)
{
   std::vector<std::byte> bytes(words * 4);
   for (uint32_t i = 0; i < words; ++i) {
      const uint32_t number = (i * 2654435761u >> 27) & 15;
      const float real = float(number) - 7;
      memcpy(&bytes[i * 4], floats ? static_cast<const void *>(&real) : &number, 4);
   }
   return bytes;
}

/// The same as in subgroups of the size that the shader's blocks have.
void expect_independence(const std::string &glsl)
{
   const test::Source source = test::compile(head + glsl);
   const uint32_t turns = 3;
   runner::Dispatch dispatch = {
      .source = source.shader_source(),
      .buffers = {{{0, 0}, numbers(false)}, {{0, 1}, numbers(true)}},
      .push_constants = {},
      .workgroups = {3, 1, 1},
   };
   dispatch.push_constants.resize(sizeof(turns));
   memcpy(dispatch.push_constants.data(), &turns, sizeof(turns));
   for (const auto &[size, below] : {std::pair(8u, 32u), {32u, 8u}, {16u, 16u}}) {
      SCOPED_TRACE(testing::Message() << "blocks of " << size << " in subgroups of " << below);
      const auto expected =
         runner::run(dispatch, {.matrices = runner::Matrices::registers, .subgroup_size = size});
      ASSERT_TRUE(expected) << expected.error().message;
      const auto module = spirv::compile(source.shader_source(), blocks(size));
      ASSERT_TRUE(module) << module.error().message;
      const std::string text = spirv::disassemble(module->words);
      const Result<bool> valid = spirv::validate(module->words);
      EXPECT_TRUE(valid) << valid.error().message << text;
      EXPECT_FALSE(has(text, "GroupNonUniform") || has(text, "BuiltIn Subgroup")) << text;
      EXPECT_FALSE(module->needs_full_subgroups);
      runner::Dispatch again = dispatch;
      again.source = {module->words, "main", {}};
      const auto found = runner::run(again, {.subgroup_size = below});
      ASSERT_TRUE(found) << found.error().message;
      for (size_t i = 0; i < found->size(); ++i) {
         EXPECT_NE((*found)[i].bytes, dispatch.buffers[i].bytes);
         ASSERT_EQ((*found)[i].bytes, (*expected)[i].bytes) << "buffer " << i;
      }
   }
}

TEST(SubgroupBlocks, MatricesWhereverSubgroupsAre)
{
   expect_independence(R"(
      void main() {
         const uint first = (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * 256;
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
         coopMatLoad(x, f, first, 16, gl_CooperativeMatrixLayoutRowMajor);
         coopMatLoad(y, f, 64, 16, gl_CooperativeMatrixLayoutColumnMajor);
         coopMatLoad(sum, f, first, 16, gl_CooperativeMatrixLayoutRowMajor);
         if (gl_SubgroupID % 2 == 1 || gl_WorkGroupID.x == 1) {
            for (uint turn = 0; turn <= gl_SubgroupID; turn++)
               sum = coopMatMulAdd(x, y, sum);
         }
         for (uint i = 0; i < sum.length(); i++)
            sum[i] = sum[i] * 2;
         coopMatStore(sum, f, first + 6144 - first, 16, gl_CooperativeMatrixLayoutRowMajor);
         b[4096 + gl_GlobalInvocationID.x] = gl_SubgroupInvocationID + gl_SubgroupSize * 256;
      })");
}

TEST(SubgroupBlocks, EveryOperation)
{
   expect_independence(R"(
      void main() {
         const uint i = gl_GlobalInvocationID.x;
         const uint x = b[i];
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m =
            coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(subgroupMax(f[i]));
         for (uint turn = 0; turn < turns; turn++) {
            uint r = subgroupAdd(x) + subgroupExclusiveMin(x) * 3 + subgroupInclusiveXor(x);
            r += subgroupClusteredMax(x, 4) + subgroupExclusiveAdd(x) + subgroupBallot(x > 7).x;
            r += subgroupShuffle(x, x & 7) + subgroupBroadcast(x, 3) + subgroupRotate(x, 5);
            r += uint(subgroupAll(x > 2)) + uint(subgroupAny(x == 3)) + uint(subgroupAllEqual(x / 16));
            r += uint(subgroupOr(x == 3)) + uint(subgroupElect()) + subgroupQuadSwapDiagonal(x);
            r += subgroupBallotBitCount(subgroupBallot(x > 4)) + subgroupBroadcastFirst(x);
            r += uint(subgroupAdd(int64_t(x) << 33) >> 33) + uint(subgroupMin(int16_t(x)));
            r += uint(subgroupAdd(f[i])) + gl_SubgroupLtMask.x + gl_SubgroupGeMask.y;
            b[1024 + turn * 256 + i] = r;
            stage[gl_LocalInvocationIndex] = r;
            subgroupBarrier();
            b[2048 + turn * 256 + i] = stage[gl_LocalInvocationIndex ^ 1];
            subgroupBarrier();
         }
         coopMatStore(m, f, 4096, 16, gl_CooperativeMatrixLayoutRowMajor);
      })");
}

/// The driver's matrices are distributed over its own subgroups, which differ from the shader's
/// blocks.
TEST(SubgroupBlocks, NoMatrixIsTheDrivers)
{
   const test::Source source = test::compile(head + std::string(R"(
      void main() {
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(m, f, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
      })"));
   spirv::CompileOptions options = blocks(32);
   options.native_operations = options.operations;
   const auto module = spirv::compile(source.shader_source(), options);
   ASSERT_TRUE(module) << module.error().message;
   EXPECT_FALSE(has(spirv::disassemble(module->words), "CooperativeMatrix"));
}

/// Blocks, and invocations of one block, take different branches.
TEST(SubgroupBlocks, WhereTheWorkgroupParts)
{
   expect_independence(R"(
      shared float tile[8][256];
      void main() {
         const uint i = gl_GlobalInvocationID.x;
         const uint x = b[i], lane = gl_SubgroupInvocationID;
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, f, gl_SubgroupID * 64, 16, gl_CooperativeMatrixLayoutRowMajor);
         uint r = 0;
         if (gl_SubgroupID % 2 == 0) {
            coopMatStore(m, tile[gl_SubgroupID], 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            subgroupBarrier();
            r = uint(tile[gl_SubgroupID][(lane * 7) % 256] + 8);
            subgroupBarrier();
            r += subgroupShuffleXor(x, 3);
         } else if (gl_WorkGroupID.x > 0) {
            r = subgroupAdd(x) + subgroupInclusiveAdd(x);
         }
         b[1024 + i] = r;
         if ((x & 1) == 0)
            r += subgroupAdd(x) + subgroupExclusiveAdd(lane) * 3 + subgroupBallot(x > 7).x +
                 subgroupBroadcastFirst(lane) + (subgroupElect() ? 1000 : 0) +
                 subgroupClusteredMin(x, 4) + uint(subgroupAll(x != 5)) + uint(subgroupAny(x == 4)) +
                 uint(subgroupAdd(int64_t(x) << 33) >> 33) + uint(subgroupAllEqual(x)) +
                 subgroupBallotBitCount(subgroupBallot(true)) + uint(subgroupMin(int16_t(x)));
         b[2048 + i] = r;
         coopMatStore(m, f, 4096, 16, gl_CooperativeMatrixLayoutRowMajor);
      })");
}

TEST(SubgroupBlocks, LoopsOfDifferentLengths)
{
   expect_independence(R"(
      void main() {
         const uint i = gl_GlobalInvocationID.x, mine = gl_LocalInvocationIndex;
         const uint x = b[i];
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, f, gl_SubgroupID * 64, 16, gl_CooperativeMatrixLayoutRowMajor);
         uint r = 0, last = 0;
         // Each subgroup has a number of turns of its own.
         for (uint turn = 0; turn < gl_SubgroupID + gl_WorkGroupID.x; turn++) {
            stage[mine] = r + x + turn;
            subgroupBarrier();
            r += stage[mine ^ 1];
            subgroupBarrier();
            if (r % 8 == 9)
               break;
         }
         b[1024 + i] = r;
         // Invocations leave the loop one by one; the sum is of the others.
         for (uint turn = 0; turn < 6; turn++) {
            if ((x ^ turn) == 3)
               continue;
            last = turn * 16 + x;
            if (turn >= x % 5) {
               if (x > 12)
                  r += subgroupAdd(turn + 1);
               else
                  break;
            }
            for (uint inner = 0; inner < x % 3; inner++) {
               r += subgroupExclusiveAdd(inner + x) + subgroupMax(last);
               if ((r & 7) == 0)
                  break;
            }
            r += subgroupBroadcastFirst(x) + last;
         }
         b[2048 + i] = r + last;
         if (x == 2)
            return;
         b[3072 + i] = subgroupAdd(last);
         coopMatStore(m, f, 4096, 16, gl_CooperativeMatrixLayoutRowMajor);
      })");
}

TEST(SubgroupBlocks, Refusals)
{
   const auto error = [](const std::string &body, uint32_t shared, const char *size = "64") {
      const std::string text = head + ("void main() { " + body + " }");
      const test::Source source = {e2e::compile_glsl(std::string(e2e::glsl_header) +
                                                     "layout(local_size_x = " + size + ") in;\n" +
                                                     text),
                                   {},
                                   {}};
      spirv::CompileOptions options = blocks(32);
      options.max_shared_bytes = shared;
      const auto module = spirv::compile(source.shader_source(), options);
      return module ? std::string() : module.error().message;
   };
   EXPECT_EQ(error("b[0] = subgroupAdd(b[1]);", 256), "");
   EXPECT_TRUE(has(error("b[0] = subgroupAdd(b[1]);", 255), "need more shared memory"));
   EXPECT_TRUE(has(error("b[0] = subgroupAdd(b[1]);", 256, "48"), "do not fill"));
   EXPECT_EQ(error("b[0] = gl_SubgroupInvocationID; subgroupBarrier();", 0, "48"), "");
}

} // namespace
} // namespace weft
