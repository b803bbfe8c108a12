// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/descriptor_kinds.h"

namespace weft::icd_test {

const std::vector<Kind> &descriptor_kinds()
{
   static const std::vector<Kind> kinds = {
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, "", "readonly buffer Storage { float value; }", "",
       ".value"},
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, "", "uniform Uniform { float value; }", "", ".value"},
      {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, ", r32f", "uniform readonly imageBuffer",
       "imageLoad(", ", 0).x"},
      {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, "", "uniform samplerBuffer", "texelFetch(",
       ", 0).x"},
      {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, ", r32f", "uniform readonly image2D", "imageLoad(",
       ", ivec2(0)).x"},
      {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, "", "uniform texture2D", "texelFetch(",
       ", ivec2(0), 0).x"},
      // The texel in the middle is 0, the border has the number.
      {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, "", "uniform sampler2D", "texel_and_border(",
       ")"},
      {VK_DESCRIPTOR_TYPE_SAMPLER, "", "uniform sampler", "textureLod(sampler2D(zero, ",
       "), vec2(2), 0).x"},
   };
   return kinds;
}

const char *const kinds_header = R"(
#extension GL_EXT_samplerless_texture_functions : enable
#define texel_at(image, p) textureLod(image, vec2(p), 0).x
#define texel_and_border(image) (texel_at(image, 0.5) + texel_at(image, 2))
)";

std::string Kind::declare(uint32_t set, uint32_t binding, const std::string &name,
                          uint32_t count) const
{
   // Blocks of a shader have different names.
   std::string type = declaration;
   if (const size_t brace = type.find(" {"); brace != std::string::npos)
      type.insert(brace, "_" + name);
   return "layout(set = " + std::to_string(set) + ", binding = " + std::to_string(binding) +
          layout + ") " + type + " " + name + "[" + std::to_string(count) + "];\n";
}

VkMutableDescriptorTypeListEXT list_of(const std::vector<VkDescriptorType> &types)
{
   return {uint32_t(types.size()), types.data()};
}

VkMutableDescriptorTypeCreateInfoEXT info_of(std::span<const VkMutableDescriptorTypeListEXT> lists)
{
   return {
      .sType = VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT,
      .mutableDescriptorTypeListCount = uint32_t(lists.size()),
      .pMutableDescriptorTypeLists = lists.data(),
   };
}

std::string mutable_reader(const std::vector<Kind> &chosen)
{
   std::string declarations, cases;
   for (size_t k = 0; k < chosen.size(); ++k) {
      const std::string name = "x" + std::to_string(k);
      declarations += chosen[k].declare(0, 0, name, mutable_elements);
      cases += "   if (kinds[i].x == " + std::to_string(k) +
               ")\n      result[i] = " + chosen[k].number(name + "[nonuniformEXT(i)]") + ";\n";
   }
   return std::string(kinds_header) + "layout(local_size_x = 16) in;\n" + declarations +
          "layout(binding = 1) uniform texture2D zero;\n"
          "layout(binding = 2) uniform Kinds { uvec4 kinds[16]; };\n"
          "layout(binding = 9) buffer Out { float result[16]; };\n"
          "void main()\n{\n   uint i = gl_LocalInvocationID.x;\n" +
          cases + "}\n";
}

KindsTest::Resource KindsTest::make_resource(VkDescriptorType type, float number)
{
   const bool is_combined = type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   const TestBuffer buffer = make_buffer(16, nullptr);
   buffer.as<float>()[0] = number;
   const VkSamplerCustomBorderColorCreateInfoEXT color = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
      .customBorderColor = {.float32 = {number, 0, 0, 1}},
      .format = VK_FORMAT_R32_SFLOAT,
   };
   const VkSamplerCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
      .pNext = &color,
      .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
      .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
      .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
      .borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT,
   };
   VkSampler sampler;
   EXPECT_VK(vkCreateSampler(device, &info, nullptr, &sampler));
   clean_up.push_back([this, sampler] { vkDestroySampler(device, sampler, nullptr); });
   return {
      .image = {sampler, make_one_texel(is_combined ? 0 : number), VK_IMAGE_LAYOUT_GENERAL},
      .buffer = {buffer.handle, 0, VK_WHOLE_SIZE},
      .texels = make_view(buffer, VK_FORMAT_R32_SFLOAT),
   };
}

VkImageView KindsTest::make_one_texel(float number)
{
   const TestImage image =
      make_image({.format = VK_FORMAT_R32_SFLOAT,
                  .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT});
   fill(image, make_buffer(4, &number));
   return make_image_view(image, VK_IMAGE_VIEW_TYPE_2D);
}

} // namespace weft::icd_test
