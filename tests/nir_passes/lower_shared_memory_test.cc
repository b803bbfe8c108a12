// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/lower_shared_memory.h"
#include "nir_passes/shader_text.h"
#include "tests/nir_passes/shaders.h"

#include <cstring>
#include <gtest/gtest.h>

namespace weft {
namespace {

using test::has;

/// The shader after the pass, with its variables; or the pass's error.  A name makes that variable
/// volatile, which GLSL's shared ones cannot be.
std::string lowered(const std::string &glsl, const char *volatile_name = "")
{
   Result<Shader> shader = read_shader(test::compile(glsl).shader_source(), Consumer::driver, 32);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_shader *nir = shader->get();
   nir_split_var_copies(nir);
   nir_lower_var_copies(nir);
   nir_opt_deref(nir);
   nir_copy_prop(nir);
   nir_opt_dce(nir);
   nir_foreach_variable_with_modes(var, nir, nir_var_mem_shared) {
      if (strcmp(var->name, volatile_name) == 0)
         var->data.access = ACCESS_VOLATILE;
   }
   Result<bool> result = lower_shared_memory(nir);
   if (!result)
      return result.error().message;
   nir_validate_shader(nir, "lower_shared_memory");
   return shader_text(nir);
}

TEST(LowerSharedMemory, TheNarrowestAccessGivesTheUnit)
{
   const std::string text = lowered(R"(
      shared f16vec4 halves[64];
      shared vec4 floats[64];
      void main() {
         halves[gl_LocalInvocationIndex] = f16vec4(1);
         floats[gl_LocalInvocationIndex] = vec4(2);
      })");
   EXPECT_TRUE(has(text, "uint16_t[256] halves")) << text;
   EXPECT_TRUE(has(text, "uint[256] floats")) << text;
}

TEST(LowerSharedMemory, WiderAccessesAreTakenApart)
{
   const std::string text = lowered(R"(
      struct Mixed { uint8_t small; uint64_t large; };
      shared Mixed mixed[8];
      void main() {
         mixed[gl_LocalInvocationIndex].small = uint8_t(1);
         mixed[gl_LocalInvocationIndex].large = 0x123456789ul;
      })");
   EXPECT_TRUE(has(text, "uint8_t[128] mixed")) << text;
}

TEST(LowerSharedMemory, AtomicOperationsOnFloatsWantFloats)
{
   const std::string text = lowered(R"(
      #extension GL_EXT_shader_atomic_float : enable
      shared float sum;
      shared uint count;
      void main() { atomicAdd(sum, 1.5); atomicAdd(count, 1u); })");
   EXPECT_TRUE(has(text, "float[1] sum")) << text;
   EXPECT_TRUE(has(text, "uint[1] count")) << text;
}

TEST(LowerSharedMemory, BooleansAreWords)
{
   const std::string text = lowered(R"(
      shared bool flags[64];
      layout(binding = 0) buffer B { uint data[]; };
      void main() {
         flags[gl_LocalInvocationIndex] = data[0] > 1;
         barrier();
         data[1] = flags[3] ? 1 : 0;
      })");
   EXPECT_TRUE(has(text, "uint[64] flags")) << text;
}

TEST(LowerSharedMemory, AVolatileVariableLeavesTheOthersAlone)
{
   const std::string text = lowered("shared uint flag;\n"
                                    "shared uint sums[64];\n"
                                    "void main() { sums[gl_LocalInvocationIndex] = 3; flag = 1; }",
                                    "flag");
   EXPECT_TRUE(has(text, " volatile uint[1] flag")) << text;
   EXPECT_FALSE(has(text, " volatile uint[64] sums")) << text;
}

TEST(LowerSharedMemory, ExplicitLayoutIsOneArray)
{
   const std::string text = lowered(R"(
      #extension GL_EXT_shared_memory_block : enable
      shared First { uint8_t bytes[64]; };
      shared Second { uint words[32]; };
      layout(binding = 0) buffer B { uint data[]; };
      void main() {
         words[gl_LocalInvocationIndex] = 3;
         barrier();
         data[0] = bytes[5];
      })");
   EXPECT_TRUE(has(text, "uint8_t[128]")) << text;
   EXPECT_EQ(text.find("decl_var shared"), text.rfind("decl_var shared")) << text;
}

} // namespace
} // namespace weft
