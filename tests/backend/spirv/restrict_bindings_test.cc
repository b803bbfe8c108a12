// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/restrict_bindings.h"

#include "tests/backend/spirv/compiled.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using spirv::BindingSet;

/// The restrict bindings of a module with these decorations. Variable %a at (0, 1) is an array of
/// two blocks, %b is at (2, 3), and %parameter belongs to a function.
BindingSet found(const std::string &decorations)
{
   return spirv::restrict_bindings(test::assemble(R"(
      OpCapability Shader
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main"
      OpDecorate %a DescriptorSet 0
      OpDecorate %a Binding 1
      OpDecorate %b Binding 3
      OpDecorate %b DescriptorSet 2
   )" + decorations + R"(
      %void = OpTypeVoid
      %uint = OpTypeInt 32 0
      %two = OpConstant %uint 2
      %block = OpTypeStruct %uint %uint
      %blocks = OpTypeArray %block %two
      %other = OpTypeStruct %uint
      %to_blocks = OpTypePointer StorageBuffer %blocks
      %to_other = OpTypePointer StorageBuffer %other
      %a = OpVariable %to_blocks StorageBuffer
      %b = OpVariable %to_other StorageBuffer
      %c = OpVariable %to_other StorageBuffer
      %takes = OpTypeFunction %void %to_other
      %function = OpTypeFunction %void
      %callee = OpFunction %void None %takes
      %parameter = OpFunctionParameter %to_other
      %l1 = OpLabel
      OpReturn
      OpFunctionEnd
      %main = OpFunction %void None %function
      %l2 = OpLabel
      OpReturn
      OpFunctionEnd)",
                                                  0x00010300));
}

TEST(RestrictBindings, AreThoseOfDecoratedVariables)
{
   EXPECT_EQ(found(""), BindingSet());
   EXPECT_EQ(found("OpDecorate %a Restrict"), (BindingSet{{0, 1}}));
   EXPECT_EQ(found("OpDecorate %b Restrict\nOpDecorate %a Restrict"), (BindingSet{{0, 1}, {2, 3}}));
}

TEST(RestrictBindings, WithoutABindingThereIsNone)
{
   EXPECT_EQ(found("OpDecorate %parameter Restrict"), BindingSet());
   EXPECT_EQ(found("OpDecorate %c Restrict\nOpDecorate %c DescriptorSet 0"), BindingSet());
   EXPECT_EQ(found("OpDecorate %c Restrict\nOpDecorate %c Binding 0"), BindingSet());
}

TEST(RestrictBindings, AllMembersOfABlockAreTheWholeBlock)
{
   EXPECT_EQ(found("OpMemberDecorate %block 0 Restrict"), BindingSet());
   EXPECT_EQ(found("OpMemberDecorate %block 0 Restrict\nOpMemberDecorate %block 1 Restrict"),
             (BindingSet{{0, 1}}));
   EXPECT_EQ(found("OpMemberDecorate %other 0 Restrict"), (BindingSet{{2, 3}}));
}

TEST(RestrictBindings, DecorationGroupsHandOutWhatTheyHave)
{
   EXPECT_EQ(found("OpDecorate %group Restrict\n%group = OpDecorationGroup\n"
                   "OpGroupDecorate %group %a %b"),
             (BindingSet{{0, 1}, {2, 3}}));
   EXPECT_EQ(found("OpDecorate %group Restrict\n%group = OpDecorationGroup\n"
                   "OpGroupMemberDecorate %group %block 0 %block 1"),
             (BindingSet{{0, 1}}));
   EXPECT_EQ(found("OpDecorate %group Restrict\nOpDecorate %group Binding 7\n"
                   "%group = OpDecorationGroup\nOpDecorate %c DescriptorSet 5\n"
                   "OpGroupDecorate %group %c"),
             (BindingSet{{5, 7}}));
}

TEST(RestrictBindings, AllVariablesAtABindingHaveToBe)
{
   const std::string same = "OpDecorate %c DescriptorSet 2\nOpDecorate %c Binding 3\n";
   EXPECT_EQ(found(same + "OpDecorate %b Restrict"), BindingSet());
   EXPECT_EQ(found(same + "OpDecorate %b Restrict\nOpDecorate %c Restrict"), (BindingSet{{2, 3}}));
}

TEST(RestrictBindings, DamagedModulesEndTheSearch)
{
   EXPECT_EQ(spirv::restrict_bindings({}), BindingSet());
   const uint32_t zero_length[] = {0x07230203, 0x00010600, 0, 8, 0, 0};
   EXPECT_EQ(spirv::restrict_bindings(zero_length), BindingSet());
   /* A pointer type that is its own pointee. */
   const uint32_t ring[] = {0x07230203, 0x00010600,    0, 8,  0,  4u << 16 | 32, 1, 12,
                            1,          4u << 16 | 59, 1, 2,  12, 4u << 16 | 71, 2, 34,
                            0,          4u << 16 | 71, 2, 33, 0};
   EXPECT_EQ(spirv::restrict_bindings(ring), BindingSet());
}

} // namespace
} // namespace weft
