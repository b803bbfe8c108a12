// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/module_builder.h"

#include "backend/spirv/words/spirv_text.h"
#include "nir_passes/front_end/spirv_words.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace weft {
namespace {

using spirv::Id;
using spirv::ModuleBuilder;

/// An empty entry point around a test's instructions in the builder.
spirv::Words finished(ModuleBuilder &m)
{
   const Id function = m.new_id();
   m.capability(SpvCapabilityShader);
   m.memory_model(SpvAddressingModelLogical, SpvMemoryModelGLSL450);
   m.begin_function(function, m.type(SpvOpTypeFunction, {m.type_void()}));
   m.end_function();
   m.entry_point(SpvExecutionModelGLCompute, function, "main", m.global_variables());
   m.execution_mode(function, SpvExecutionModeLocalSize, {1, 1, 1});
   return m.finish(0x00010600);
}

unsigned count(const spirv::Words &words, SpvOp opcode)
{
   unsigned n = 0;
   for (const Instruction &i : Instructions(words))
      n += i.opcode == uint32_t(opcode);
   return n;
}

TEST(ModuleBuilder, AnEmptyModuleIsValid)
{
   ModuleBuilder m;
   const spirv::Words words = finished(m);
   const Result<bool> valid = spirv::validate(words);
   EXPECT_TRUE(valid) << valid.error().message;
   EXPECT_EQ(words[0], SpvMagicNumber);
   EXPECT_EQ(words[1], 0x00010600u);
}

TEST(ModuleBuilder, TypesAndConstantsAreThereOnce)
{
   ModuleBuilder m;
   EXPECT_EQ(m.type_uint(32), m.type_uint(32));
   EXPECT_NE(m.type_int(32, true), m.type_uint(32));
   EXPECT_EQ(m.type_vector(m.type_uint(32), 4), m.type_vector(m.type_uint(32), 4));
   EXPECT_EQ(m.type_vector(m.type_uint(32), 1), m.type_uint(32));
   EXPECT_EQ(m.constant_uint(7), m.constant_uint(7));
   EXPECT_NE(m.constant_uint(7), m.constant_uint(8));
   EXPECT_NE(m.constant(m.type_float(32), 32, 7), m.constant_uint(7));
   EXPECT_EQ(m.constant_bool(true), m.constant_bool(true));
   EXPECT_NE(m.constant_bool(true), m.constant_bool(false));
   EXPECT_EQ(m.constant_null(m.type_uint(32)), m.constant_null(m.type_uint(32)));
   /* Types to be decorated are not shared. */
   EXPECT_NE(m.distinct_type(SpvOpTypeStruct, {m.type_uint(32)}),
             m.distinct_type(SpvOpTypeStruct, {m.type_uint(32)}));
   const spirv::Words words = finished(m);
   EXPECT_TRUE(spirv::validate(words)) << spirv::disassemble(words);
   EXPECT_EQ(count(words, SpvOpTypeInt), 2u);
   EXPECT_EQ(count(words, SpvOpTypeStruct), 2u);
}

TEST(ModuleBuilder, TypesBringTheirCapabilities)
{
   ModuleBuilder m;
   m.type_uint(32);
   m.type_float(32);
   EXPECT_TRUE(m.used_capabilities().empty());
   m.type_uint(8);
   m.type_uint(16);
   m.type_int(64, true);
   m.type_float(16);
   m.type_float(64);
   for (const SpvCapability c : {SpvCapabilityInt8, SpvCapabilityInt16, SpvCapabilityInt64,
                                 SpvCapabilityFloat16, SpvCapabilityFloat64})
      EXPECT_TRUE(m.used_capabilities().contains(c)) << c;
}

TEST(ModuleBuilder, NumbersOf64BitsAreTwoWordsLowOneFirst)
{
   ModuleBuilder m;
   m.constant(m.type_uint(64), 64, 0x123456789abcdef0);
   const spirv::Words words = finished(m);
   for (const Instruction &i : Instructions(words)) {
      if (i.opcode != SpvOpConstant)
         continue;
      ASSERT_EQ(i.operands.size(), 4u);
      EXPECT_EQ(i.operands[2], 0x9abcdef0u);
      EXPECT_EQ(i.operands[3], 0x12345678u);
   }
   EXPECT_EQ(count(words, SpvOpConstant), 1u);
}

/// Strings end with a zero byte, which may take a word of its own.
TEST(ModuleBuilder, StringsAreReadAsTheyWereWritten)
{
   for (const char *name : {"a", "abc", "abcd", "abcde", "äöü"}) {
      ModuleBuilder m;
      m.name(m.type_uint(32), name);
      m.name(m.type_uint(32), "");
      const spirv::Words words = finished(m);
      EXPECT_TRUE(spirv::validate(words)) << name;
      for (const Instruction &i : Instructions(words)) {
         if (i.opcode == SpvOpName) {
            EXPECT_EQ(literal_string(i.operands.subspan(1)), name);
         }
      }
      EXPECT_EQ(count(words, SpvOpName), 1u);
   }
}

/// SPIR-V 2.4, for any order of the calls.
TEST(ModuleBuilder, SectionsAreInTheirOrder)
{
   ModuleBuilder m;
   const Id uint = m.type_uint(32);
   const Id private_uint = m.type_pointer(SpvStorageClassPrivate, uint);
   const Id variable = m.global_variable(private_uint, SpvStorageClassPrivate);
   m.decorate(variable, SpvDecorationAliased);
   m.name(variable, "variable");
   m.extension("SPV_KHR_multiview");
   m.extended_instructions("GLSL.std.450");
   const spirv::Words words = finished(m);
   EXPECT_TRUE(spirv::validate(words)) << spirv::disassemble(words);
   const SpvOp order[] = {SpvOpCapability, SpvOpExtension,     SpvOpExtInstImport, SpvOpMemoryModel,
                          SpvOpEntryPoint, SpvOpExecutionMode, SpvOpName,          SpvOpDecorate,
                          SpvOpTypeInt,    SpvOpFunction};
   std::vector<uint32_t> found;
   for (const Instruction &i : Instructions(words))
      found.push_back(i.opcode);
   auto at = found.begin();
   for (const SpvOp opcode : order) {
      at = std::find(at, found.end(), uint32_t(opcode));
      EXPECT_NE(at, found.end()) << opcode;
   }
}

TEST(SpirvWords, TheWalkEndsAtDamage)
{
   ModuleBuilder m;
   spirv::Words words = finished(m);
   const auto length = [&] {
      unsigned n = 0;
      for ([[maybe_unused]] const Instruction &i : Instructions(words))
         ++n;
      return n;
   };
   const unsigned whole = length();
   EXPECT_GT(whole, 5u);
   words.pop_back();
   EXPECT_EQ(length(), whole - 1);
   words.push_back(0);
   EXPECT_EQ(length(), whole - 1);
   words.resize(3);
   EXPECT_EQ(length(), 0u);
}

} // namespace
} // namespace weft
