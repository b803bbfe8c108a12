// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The result keeps the memory operands of a module's accesses: for matrices in every layout, in
/// registers and in the driver's own.

#include "backend/spirv/words/spirv_text.h"
#include "tests/backend/spirv/compiled.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

namespace weft {
namespace {

using test::count;
using test::has;

/// The module with matrices in registers, or with the matrices of a driver that has all of them.
std::string compiled(std::span<const uint32_t> spirv, bool native,
                     const spirv::Driver &driver = spirv::full_driver())
{
   spirv::CompileOptions options = test::options_for(driver);
   options.flexible = flexible_operations(options.operations, spirv::max_matrix_dimension);
   if (native)
      options.native_operations = options.operations;
   const auto module = spirv::compile({spirv, "main", {}}, options);
   if (!module)
      return module.error().message;
   const Result<bool> valid = spirv::validate(module->words);
   EXPECT_TRUE(valid) << (valid ? "" : valid.error().message);
   return spirv::disassemble(module->words);
}

/// Instructions whose text has all of these.
unsigned lines_with(const std::string &text, std::initializer_list<const char *> parts)
{
   std::istringstream lines(text);
   std::string line;
   unsigned found = 0;
   while (std::getline(lines, line))
      found += std::ranges::all_of(parts, [&](const char *part) { return has(line, part); });
   return found;
}

struct Form {
   const char *name, *glsl;
   bool whole; ///< a load of the driver's own matrices has this layout
};

constexpr Form forms[] = {
   {"rows",
    "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;\n"
    "coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "coopMatStore(m, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);",
    true},
   {"columns",
    "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;\n"
    "coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);\n"
    "coopMatStore(m, c, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);",
    true},
   {"blocks",
    "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;\n"
    "coopMatLoad(m, a, 0, 2, 4202);\n"
    "coopMatStore(m, c, 0, 2, 4202);",
    false},
   {"without a use",
    "fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> m;\n"
    "coopMatLoadNV(m, a, 0, 16, false);\n"
    "coopMatStoreNV(m, c, 0, 16, false);",
    false},
   {"tensors",
    "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;\n"
    "tensorLayoutNV<2> t = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 16, 16);\n"
    "coopMatLoadTensorNV(m, a, 0, t);\n"
    "coopMatStoreTensorNV(m, c, 0, t);",
    false},
   {"larger than the driver's",
    "coopmat<float16_t, gl_ScopeSubgroup, 32, 32, gl_MatrixUseA> m;\n"
    "coopMatLoad(m, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);\n"
    "coopMatStore(m, c, 0, 32, gl_CooperativeMatrixLayoutRowMajor);",
    true},
};

test::Source source_of(const Form &form, const std::string &qualifier)
{
   return test::compile("#extension GL_NV_cooperative_matrix : enable\n"
                        "#extension GL_NV_cooperative_matrix2 : enable\n"
                        "layout(binding = 0) " +
                        qualifier + " buffer A { float16_t a[]; };\nlayout(binding = 1) " +
                        qualifier + " buffer C { float16_t c[]; };\nvoid main() {\n" + form.glsl +
                        "\n}");
}

TEST(MemoryOperands, VolatileMatricesStayVolatile)
{
   for (const Form &form : forms) {
      SCOPED_TRACE(form.name);
      const test::Source source = source_of(form, "volatile");
      /* The GLSL front end's output for the qualifier. */
      const std::string before = spirv::disassemble(source.spirv);
      ASSERT_GE(lines_with(before, {"OpCooperativeMatrixLoad", "Volatile"}), 1u) << before;
      ASSERT_GE(lines_with(before, {"OpCooperativeMatrixStore", "Volatile"}), 1u) << before;

      for (const bool native : {false, true}) {
         const std::string text = compiled(source.spirv, native);
         ASSERT_TRUE(has(text, "OpEntryPoint")) << text;
         const bool whole = native && form.whole;
         const char *load = whole ? "OpCooperativeMatrixLoadKHR" : "OpLoad";
         const char *store = whole ? "OpCooperativeMatrixStoreKHR" : "OpStore";
         for (const char *access : {load, store}) {
            EXPECT_GE(lines_with(text, {access, "Volatile"}), 1u) << text;
            EXPECT_EQ(lines_with(text, {access, "Volatile"}),
                      lines_with(text, {access, "NonPrivatePointer"}))
               << text;
         }
      }
   }
}

TEST(MemoryOperands, OtherMatricesAreNotVolatile)
{
   for (const Form &form : forms) {
      SCOPED_TRACE(form.name);
      for (const bool native : {false, true})
         EXPECT_FALSE(has(compiled(source_of(form, "").spirv, native), "Volatile"));
   }
}

/// A module that loads and stores a matrix with these operands.
std::vector<uint32_t> with_operands(const std::string &load, const std::string &store)
{
   return test::assemble(R"(
      OpCapability Shader
      OpCapability CooperativeMatrixKHR
      OpCapability VulkanMemoryModel
      OpExtension "SPV_KHR_cooperative_matrix"
      OpMemoryModel Logical Vulkan
      OpEntryPoint GLCompute %main "main" %x
      OpExecutionMode %main LocalSize 32 1 1
      OpDecorate %words ArrayStride 4
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpDecorate %x DescriptorSet 0
      OpDecorate %x Binding 0
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      %0 = OpConstant %uint 0
      %2 = OpConstant %uint 2
      %3 = OpConstant %uint 3
      %16 = OpConstant %uint 16
      %256 = OpConstant %uint 256
      %words = OpTypeRuntimeArray %uint
      %block = OpTypeStruct %words
      %ptr_block = OpTypePointer StorageBuffer %block
      %ptr = OpTypePointer StorageBuffer %uint
      %x = OpVariable %ptr_block StorageBuffer
      %matrix = OpTypeCooperativeMatrixKHR %uint %3 %16 %16 %2
      %main = OpFunction %void None %function
      %entry = OpLabel
      %from = OpAccessChain %ptr %x %0 %0
      %to = OpAccessChain %ptr %x %0 %256
      %m = OpCooperativeMatrixLoadKHR %matrix %from %0 %16 )" +
                            load + R"(
      %n = OpCooperativeMatrixLoadKHR %matrix %from %0 %16 )" +
                            load + R"(
      %sum = OpIAdd %matrix %m %m
      OpCooperativeMatrixStoreKHR %to %sum %0 %16 )" +
                            store + R"(
      OpReturn
      OpFunctionEnd)",
                         0x00010500);
}

/// One of the two loads is of an unused matrix.
TEST(MemoryOperands, AVolatileLoadIsNotLeftOut)
{
   const auto loads = [](const char *operands, const char *kept) {
      const std::string text = compiled(with_operands(operands, "NonPrivatePointer"), true);
      return lines_with(text, {"OpCooperativeMatrixLoadKHR", kept});
   };
   EXPECT_EQ(loads("NonPrivatePointer", ""), 1u);
   EXPECT_EQ(loads("NonPrivatePointer|Volatile", "Volatile"), 2u);
}

TEST(MemoryOperands, EachOperandArrives)
{
   for (const bool native : {false, true}) {
      SCOPED_TRACE(native);
      const std::string text = compiled(
         with_operands("Nontemporal|NonPrivatePointer", "Volatile|NonPrivatePointer"), native);
      ASSERT_TRUE(has(text, "OpEntryPoint")) << text;
      const unsigned least = native ? 1 : 2;
      EXPECT_GE(lines_with(text, {"Load", "Nontemporal"}), least) << text;
      EXPECT_EQ(lines_with(text, {"Store", "Nontemporal"}), 0u) << text;
      EXPECT_GE(lines_with(text, {"Store", "Volatile"}), least) << text;
      EXPECT_EQ(lines_with(text, {"Load", "Volatile"}), 0u) << text;
   }
}

TEST(MemoryOperands, MatricesInDescriptorsThatDiffer)
{
   const test::Source source = test::compile(R"(
      layout(binding = 0) buffer A { float16_t a[]; } many[4];
      void main() {
         coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
         coopMatLoad(m, many[nonuniformEXT(gl_SubgroupID)].a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(m, many[nonuniformEXT(gl_SubgroupID + 2)].a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      })");
   for (const bool native : {false, true}) {
      spirv::Driver driver = spirv::full_driver();
      for (const bool halves : {true, false}) {
         driver.storage_buffer_16bit = halves;
         const std::string text = compiled(source.spirv, native, driver);
         EXPECT_GE(lines_with(text, {"OpDecorate", "NonUniform"}), 2u) << text;
         EXPECT_TRUE(has(text, "OpCapability StorageBufferArrayNonUniformIndexing")) << text;
      }
   }
}

} // namespace
} // namespace weft
