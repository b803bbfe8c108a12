// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The front end's handlers without SPIRV-Tools' validator, which would refuse some of these
/// modules.

#include "nir_passes/compiler_options.h"
#include "nir_passes/front_end/vtn_handlers.h"
#include "nir_passes/shader.h"

#include "compiler/spirv/spirv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using Words = std::vector<uint32_t>;

void append(Words &module, uint32_t opcode, const Words &operands)
{
   module.push_back(uint32_t(operands.size() + 1) << 16 | opcode);
   module.insert(module.end(), operands.begin(), operands.end());
}

/// An empty compute shader with a capability and an instruction, in the section of types or in the
/// function.
Words module(uint32_t capability, const Words &type, const Words &instruction)
{
   Words words = {0x07230203, 0x00010600, 0, 100, 0};
   append(words, SpvOpCapability, {SpvCapabilityShader});
   if (capability)
      append(words, SpvOpCapability, {capability});
   append(words, SpvOpMemoryModel, {SpvAddressingModelLogical, SpvMemoryModelGLSL450});
   append(words, SpvOpEntryPoint, {SpvExecutionModelGLCompute, 1, 0x6e69616d, 0});
   append(words, SpvOpExecutionMode, {1, SpvExecutionModeLocalSize, 1, 1, 1});
   append(words, SpvOpTypeVoid, {2});
   append(words, SpvOpTypeFunction, {3, 2});
   if (!type.empty())
      append(words, type[0], Words(type.begin() + 1, type.end()));
   append(words, SpvOpFunction, {2, 1, SpvFunctionControlMaskNone, 3});
   append(words, SpvOpLabel, {4});
   if (!instruction.empty())
      append(words, instruction[0], Words(instruction.begin() + 1, instruction.end()));
   append(words, SpvOpReturn, {});
   append(words, SpvOpFunctionEnd, {});
   return words;
}

/// The front end's error, or nothing.
std::string error_of(const Words &words)
{
   TypeTable types;
   std::string error;
   spirv_to_nir_options options = {};
   options.environment = NIR_SPIRV_VULKAN;
   options.debug.func = [](void *data, nir_spirv_debug_level level, size_t, const char *message) {
      if (level == NIR_SPIRV_DEBUG_LEVEL_ERROR)
         *static_cast<std::string *>(data) += message;
   };
   options.debug.private_data = &error;
   options.skip_os_break_in_debug_build = true;
   weft_front_end front_end = {
      32, [](const weft_front_end *, const glsl_cmat_description *) { return 1u; }};
   weft_set_vtn_handlers(&options, &front_end);
   const Shader shader(spirv_to_nir(words.data(), words.size(), nullptr, 0, MESA_SHADER_COMPUTE,
                                    "main", &options, &llvm_compiler_options));
   return shader ? "" : error;
}

TEST(VtnHandlers, LeaveWhatIsNotTheirs)
{
   EXPECT_EQ(error_of(module(0, {}, {})), "");
   EXPECT_EQ(error_of(module(SpvCapabilityInt64, {SpvOpTypeInt, 5, 64, 0}, {SpvOpNop})), "");
}

TEST(VtnHandlers, KnowTheFamilysCapabilities)
{
   constexpr uint32_t decode_vector = 5447;
   EXPECT_EQ(error_of(module(decode_vector, {}, {})), "");
   EXPECT_TRUE(weft_is_family_capability(decode_vector));
   EXPECT_FALSE(weft_is_family_capability(SpvCapabilityCooperativeMatrixKHR));
}

TEST(VtnHandlers, SurviveOperandsThatAreNotThere)
{
   EXPECT_NE(error_of(module(0, {5358, 5, 6, 7, 8, 9}, {})), "");
   EXPECT_NE(error_of(module(0, {}, {5361, 2, 6, 7, 8, 9})), "");
   EXPECT_NE(error_of(module(0, {SpvOpSpecConstantOp, 2, 6, 5362, 8}, {})), "");
}

} // namespace
} // namespace weft
