// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whatever the words of a module are, the compiler returns: a valid module, or an error that says
/// something.

#include "backend/spirv/compiler.h"
#include "backend/spirv/spirv_text.h"
#include "tests/nir_passes/mutants.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr unsigned mutants = 1500;

TEST(MutatedModules, AreCompiledOrRefused)
{
   test::for_each_mutant(mutants, [](const ShaderSource &source, unsigned mutant) {
      spirv::Driver driver = spirv::full_driver();
      driver.vulkan_memory_model = mutant % 2;
      const auto operations = spirv::supported_operations(driver, 16);
      const auto native = mutant % 4 < 2 ? operations : std::vector<MatrixOperation>();
      const auto module =
         spirv::compile(source, {driver, 16, operations, native, mutant % 8 < 4, {}});
      if (!module) {
         EXPECT_FALSE(module.error().message.empty()) << "mutant " << mutant;
         return false;
      }
      const Result<bool> valid = spirv::validate(*module);
      EXPECT_TRUE(valid) << "mutant " << mutant << ": " << valid.error().message;
      return true;
   });
}

} // namespace
} // namespace weft
