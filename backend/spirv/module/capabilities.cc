// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/translator.h"
#include "nir_passes/front_end/spirv_words.h"

#include <algorithm>
#include <vulkan/vulkan_core.h>

namespace weft::spirv {

namespace {

/// The magic number in a module of the other byte order.
constexpr uint32_t swapped_magic_number = 0x03022307;

const char *unless(bool available, const char *feature)
{
   return available ? nullptr : feature;
}

const char *lacks_subgroup(const Driver &driver, VkSubgroupFeatureFlags operation,
                           const char *feature)
{
   return unless(driver.subgroup_operations & operation, feature);
}

} // namespace

Driver full_driver()
{
   Driver d;
   d.spirv_version = 0x00010600;
   d.subgroup_operations =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
      VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
      VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT |
      VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT |
      VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR | VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR;
   d.subgroup_extended_types = true;
   d.vulkan_memory_model_device_scope = true;
   d.int8 = d.int16 = d.int64 = d.float16 = d.float64 = true;
   d.storage_buffer_8bit = d.storage_buffer_16bit = true;
   d.buffer_device_address = d.integer_dot_product = true;
   d.preserve_nan_16 = d.preserve_nan_32 = d.preserve_nan_64 = true;
   return d;
}

bool declares_any(std::span<const uint32_t> spirv, std::span<const uint32_t> capabilities,
                  std::span<const std::string> extensions)
{
   if (spirv.empty() || (spirv[0] != SpvMagicNumber && spirv[0] != swapped_magic_number))
      return false;
   std::vector<uint32_t> swapped;
   if (spirv[0] == swapped_magic_number) {
      std::ranges::transform(spirv, std::back_inserter(swapped),
                             [](uint32_t word) { return __builtin_bswap32(word); });
      spirv = swapped;
   }
   /* SPIR-V 2.4: capabilities come first, then extensions. */
   for (const auto &[opcode, operands] : Instructions(spirv)) {
      if (operands.empty())
         return false;
      switch (opcode) {
      case SpvOpCapability:
         if (std::ranges::find(capabilities, operands[0]) != capabilities.end())
            return true;
         break;
      case SpvOpExtension:
         if (std::ranges::find(extensions, literal_string(operands)) != extensions.end())
            return true;
         break;
      default:
         return false;
      }
   }
   return false;
}

const char *lacks(const Driver &driver, SpvCapability capability)
{
   switch (capability) {
   case SpvCapabilityInt8:
      return unless(driver.int8, "shaderInt8");
   case SpvCapabilityInt16:
      return unless(driver.int16, "shaderInt16");
   case SpvCapabilityInt64:
      return unless(driver.int64, "shaderInt64");
   case SpvCapabilityFloat16:
      return unless(driver.float16, "shaderFloat16");
   case SpvCapabilityFloat64:
      return unless(driver.float64, "shaderFloat64");
   case SpvCapabilityStorageBuffer8BitAccess:
      return unless(driver.storage_buffer_8bit, "storageBuffer8BitAccess");
   case SpvCapabilityStorageBuffer16BitAccess:
      return unless(driver.storage_buffer_16bit, "storageBuffer16BitAccess");
   case SpvCapabilityPhysicalStorageBufferAddresses:
      return unless(driver.buffer_device_address, "bufferDeviceAddress");
   case SpvCapabilityDotProduct:
   case SpvCapabilityDotProductInput4x8BitPacked:
      return unless(driver.integer_dot_product, "shaderIntegerDotProduct");
   case SpvCapabilityGroupNonUniform:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_BASIC_BIT, "basic subgroup operations");
   case SpvCapabilityGroupNonUniformVote:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_VOTE_BIT, "subgroup votes");
   case SpvCapabilityGroupNonUniformArithmetic:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "subgroup arithmetic");
   case SpvCapabilityGroupNonUniformBallot:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_BALLOT_BIT, "subgroup ballots");
   case SpvCapabilityGroupNonUniformShuffle:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "subgroup shuffles");
   case SpvCapabilityGroupNonUniformShuffleRelative:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT,
                            "relative subgroup shuffles");
   case SpvCapabilityGroupNonUniformClustered:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_CLUSTERED_BIT,
                            "clustered subgroup arithmetic");
   case SpvCapabilityGroupNonUniformQuad:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_QUAD_BIT, "subgroup quads");
   case SpvCapabilityGroupNonUniformRotateKHR:
      return lacks_subgroup(driver, VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR, "subgroup rotation");
   default:
      /* The shader itself declares these, and its program has enabled the features for them. */
      return nullptr;
   }
}

} // namespace weft::spirv
