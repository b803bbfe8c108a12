// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// For modules with random changes, the front end and the passes return a shader, or an error with
/// a message. They never crash.

#include "tests/backend/cpu/lower_in_two_parts.h"
#include "tests/nir_passes/mutants.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr unsigned mutants = 2400;

Result<Shader> lower(const ShaderSource &source, bool native_tiles)
{
   using enum ComponentType;
   cpu::PassOptions options = {
      .target = test::target(16, native_tiles), .matrices = {test::operations()}, .bindings = {}};
   options.matrices.operations.push_back({16, 16, 16, f16, f16, f16, f16, false});
   options.target.native = options.matrices.operations;
   for (uint32_t i = 0; i < 8; ++i)
      options.bindings.push_back({0, i, 0, i * 16, 16, 1, false});
   return test::lower_in_two_parts(source, options);
}

TEST(MutatedModules, AlwaysReturn)
{
   for (const test::Source &original : test::mutation_originals()) {
      const Result<Shader> shader = lower(original.shader_source(), true);
      ASSERT_TRUE(shader) << shader.error().message;
   }
   const unsigned accepted =
      test::for_each_mutant(mutants, [](const ShaderSource &source, unsigned mutant) {
         const Result<Shader> shader = lower(source, mutant % 2 == 0);
         if (!shader) {
            EXPECT_FALSE(shader.error().message.empty()) << "mutant " << mutant;
         }
         return bool(shader);
      });
   EXPECT_GT(accepted, mutants / 30);
}

} // namespace
} // namespace weft
