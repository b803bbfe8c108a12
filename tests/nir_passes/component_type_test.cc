// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_description.h"

#include <gtest/gtest.h>

#include <set>

#include <vulkan/vulkan_core.h>

namespace weft {
namespace {

TEST(ComponentTypes, EachRowIsATypeOfItsOwn)
{
   std::set<ComponentType> types;
   std::set<std::string> names;
   std::set<unsigned> base_types;
   for (const ComponentTypeInfo &info : component_types()) {
      EXPECT_TRUE(types.insert(info.type).second) << info.name;
      EXPECT_TRUE(names.insert(info.name).second) << info.name;
      EXPECT_TRUE(base_types.insert(info.base_type).second) << info.name;
      EXPECT_EQ(&component_type_info(info.type), &info);
      EXPECT_EQ(component_type_name(info.type), std::string(info.name));
      /* NIR has the same size for it. */
      EXPECT_EQ(glsl_base_type_get_bit_size(glsl_base_type(info.base_type)), info.bits)
         << info.name;
      EXPECT_TRUE(std::string(info.name).ends_with(std::to_string(info.bits)) ||
                  info.spirv_encoding)
         << info.name;
   }
   EXPECT_EQ(types.size(), 14u);
}

TEST(ComponentTypes, ValuesAreVulkans)
{
   EXPECT_EQ(uint32_t(ComponentType::f16), uint32_t(VK_COMPONENT_TYPE_FLOAT16_KHR));
   EXPECT_EQ(uint32_t(ComponentType::f64), uint32_t(VK_COMPONENT_TYPE_FLOAT64_KHR));
   EXPECT_EQ(uint32_t(ComponentType::s8), uint32_t(VK_COMPONENT_TYPE_SINT8_KHR));
   EXPECT_EQ(uint32_t(ComponentType::s64), uint32_t(VK_COMPONENT_TYPE_SINT64_KHR));
   EXPECT_EQ(uint32_t(ComponentType::u8), uint32_t(VK_COMPONENT_TYPE_UINT8_KHR));
   EXPECT_EQ(uint32_t(ComponentType::u64), uint32_t(VK_COMPONENT_TYPE_UINT64_KHR));
}

/// An integer's bits have no sign; each operation defines it.
TEST(ComponentTypes, SignsAreForOperationsToSay)
{
   EXPECT_EQ(component_type(GLSL_TYPE_INT8, false), ComponentType::u8);
   EXPECT_EQ(component_type(GLSL_TYPE_UINT8, true), ComponentType::s8);
   EXPECT_EQ(component_type(GLSL_TYPE_UINT64, true), ComponentType::s64);
   EXPECT_EQ(component_type(GLSL_TYPE_FLOAT16, true), ComponentType::f16);
   EXPECT_EQ(component_type(GLSL_TYPE_BFLOAT16, true), ComponentType::bf16);
   EXPECT_EQ(component_type(GLSL_TYPE_FLOAT_E4M3FN, false), ComponentType::e4m3);
   EXPECT_EQ(component_type(GLSL_TYPE_BOOL, false), std::nullopt);
}

TEST(ComponentTypes, OfAMatrix)
{
   glsl_cmat_description desc = {};
   desc.element_type = GLSL_TYPE_INT16;
   desc.rows = 1024;
   desc.cols = 16;
   desc.use = GLSL_CMAT_USE_B;
   EXPECT_EQ(component_type(desc), ComponentType::s16);
   EXPECT_TRUE(has_signed_components(desc));
   EXPECT_FALSE(has_real_components(desc));
   EXPECT_EQ(describe(desc), "1024x16 s16 (B)");
   desc.element_type = GLSL_TYPE_FLOAT_E5M2;
   EXPECT_EQ(component_type(desc), ComponentType::e5m2);
   EXPECT_TRUE(has_real_components(desc));
   EXPECT_EQ(component_bits(desc), 8u);
}

} // namespace
} // namespace weft
