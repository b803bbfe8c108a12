// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whatever the words of a module are, the front end and the passes return: a shader, or an error
/// that says something.

#include "tests/nir_passes/mutants.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr unsigned mutants = 2400;

Target make_target(bool native_tiles)
{
   using enum ComponentType;
   Target target = test::target(16, native_tiles);
   target.matrices.operations.push_back({16, 16, 16, f16, f16, f16, f16, false});
   target.lowering.native = target.matrices.operations;
   return target;
}

TEST(MutatedModules, AlwaysReturn)
{
   for (const test::Source &original : test::mutation_originals()) {
      const Result<Shader> shader = spirv_to_target(original.shader_source(), make_target(true),
                                                    {test::storage_buffers(), {}});
      ASSERT_TRUE(shader) << shader.error().message;
   }
   test::for_each_mutant(mutants, [](const ShaderSource &source, unsigned mutant) {
      const Result<Shader> shader =
         spirv_to_target(source, make_target(mutant % 2 == 0), {test::storage_buffers(), {}});
      if (!shader) {
         EXPECT_FALSE(shader.error().message.empty()) << "mutant " << mutant;
      }
      return bool(shader);
   });
}

} // namespace
} // namespace weft
