// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/struct_chain.h"
#include "tests/layer/header_sizes.h"

#include <gtest/gtest.h>

namespace weft::layer_test {

namespace {

TEST(StructSizes, AreThoseOfTheHeaders)
{
   EXPECT_GT(header_sizes.size(), 200u);
   for (const HeaderSize &s : header_sizes)
      EXPECT_EQ(layer::struct_size(s.type), s.size) << s.name;
}

TEST(StructSizes, OfStructsNewerThanTheHeaders)
{
   EXPECT_EQ(layer::struct_size(VkStructureType(1000141000)), 32u); // ShaderBfloat16FeaturesKHR
   EXPECT_EQ(layer::struct_size(VkStructureType(1000567000)), 24u); // ShaderFloat8FeaturesEXT
   EXPECT_EQ(layer::struct_size(VkStructureType(1999999000)), 0u);
}

} // namespace

} // namespace weft::layer_test
