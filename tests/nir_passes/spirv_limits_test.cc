// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/front_end/spirv_limits.h"

#include "nir_passes/front_end/spirv_to_nir.h"
#include "tests/nir_passes/shaders.h"

#include "compiler/spirv/spirv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

/// The functions of a module, with ids from 1 on: each has a number of instructions and calls.
class Module {
public:
   Module() { words = {SpvMagicNumber, 0x00010600, 0, 100'000, 0}; }

   void add(SpvOp op, std::initializer_list<uint32_t> operands)
   {
      words.push_back(uint32_t(operands.size() + 1) << 16 | op);
      words.insert(words.end(), operands);
   }

   /// Named "main".
   void entry_point(uint32_t id)
   {
      add(SpvOpEntryPoint, {SpvExecutionModelGLCompute, id, 0x6e69616d, 0});
   }

   void function(uint32_t id, const std::vector<uint32_t> &calls, uint32_t instructions = 0)
   {
      add(SpvOpFunction, {1, id, 0, 2});
      for (const uint32_t callee : calls)
         add(SpvOpFunctionCall, {1, 1000 + id, callee});
      for (uint32_t i = 0; i < instructions; ++i)
         add(SpvOpNop, {});
      add(SpvOpFunctionEnd, {});
   }

   std::string error() const
   {
      const Result<bool> good = check_spirv_limits(words, "main");
      return good ? "" : good.error().message;
   }

   std::vector<uint32_t> words;
};

TEST(SpirvLimits, Functions)
{
   for (const uint64_t more : {0, 1}) {
      Module module;
      for (uint32_t i = 0; i < limits::functions + more; ++i)
         module.function(i, {});
      EXPECT_EQ(module.error(), more ? "the SPIR-V module has more than 4096 functions" : "");
   }
}

TEST(SpirvLimits, CallsInARow)
{
   for (const uint64_t more : {0, 1}) {
      /* Callees before and behind their callers. */
      for (const bool up : {false, true}) {
         Module module;
         const uint32_t count = uint32_t(limits::call_depth + more);
         for (uint32_t i = 0; i < count; ++i) {
            const uint32_t callee = up ? i + 1 : i - 1;
            module.function(i,
                            callee < count ? std::vector{callee, callee} : std::vector<uint32_t>());
         }
         EXPECT_EQ(
            module.error(),
            more ? "the SPIR-V module has more than 512 functions that call each other in a row"
                 : "");
      }
   }
}

TEST(SpirvLimits, DifferentCalls)
{
   for (const uint64_t more : {0, 1}) {
      Module module;
      const uint32_t callees = 256, callers = uint32_t(limits::calls / callees);
      for (uint32_t i = 0; i < callees; ++i)
         module.function(i, {});
      std::vector<uint32_t> calls;
      for (uint32_t i = 0; i < callees; ++i)
         calls.insert(calls.end(), {i, i});
      for (uint32_t i = 0; i < callers; ++i)
         module.function(callees + i, calls);
      if (more)
         module.function(callees + callers, {0});
      EXPECT_EQ(module.error(),
                more ? "the SPIR-V module has more than 16384 different calls between its functions"
                     : "");
   }
}

TEST(SpirvLimits, InstructionsOfTheEntryPointOnceInlined)
{
   const std::string error =
      "the shader has more than 1048576 instructions once its functions are inlined";
   for (const uint32_t doublings : {10, 40}) {
      Module module;
      module.entry_point(doublings);
      module.function(0, {}, 500);
      for (uint32_t i = 1; i <= doublings; ++i)
         module.function(i, {i - 1, i - 1});
      EXPECT_EQ(module.error(), doublings == 40 ? error : "");
   }
   /* Of another entry point they do not count. */
   Module module;
   module.entry_point(0);
   module.function(0, {}, 5);
   module.function(1, {}, uint32_t(limits::instructions + 1));
   EXPECT_EQ(module.error(), "");
   Module huge;
   for (uint32_t i = 0; i < 5; ++i)
      huge.function(i, {}, uint32_t(limits::module_instructions / 5 + 1));
   EXPECT_EQ(huge.error(), "the SPIR-V module has more than 4194304 instructions in its functions");
}

/// The validator's message is better.
TEST(SpirvLimits, RecursionIsNotJudged)
{
   Module module;
   module.entry_point(3);
   for (uint32_t i = 0; i < 4; ++i)
      module.function(i, {(i + 1) % 4, i});
   EXPECT_EQ(module.error(), "");
}

TEST(SpirvLimits, DamagedWordsAreNotJudged)
{
   for (const std::vector<uint32_t> &words : {std::vector<uint32_t>(),
                                              {SpvMagicNumber},
                                              {1, 2, 3, 4, 5, 6},
                                              {1, 2, 3, 4, 5, 0x10036, 0x10039, 0x1000f}})
      EXPECT_TRUE(check_spirv_limits(words, "main"));
}

/// The limits are checked before any other code reads the module.
TEST(SpirvLimits, ComeBeforeValidation)
{
   Module module;
   for (uint32_t i = 0; i <= limits::functions; ++i)
      module.function(i, {});
   const Result<Shader> shader =
      spirv_to_nir({module.words, "main", {}}, Consumer::cpu, 16, MatrixForm::registers);
   ASSERT_FALSE(shader);
   EXPECT_EQ(shader.error().message, "the SPIR-V module has more than 4096 functions");
}

} // namespace
} // namespace weft
