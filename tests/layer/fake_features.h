// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Features of the fake driver in the structs of a chain.

#pragma once

#include <vulkan/vulkan.h>

namespace weft::layer_test {

/// Copies booleans between the structs of Vulkan 1.1 to 1.3 and the structs of single extensions.
/// `read` fills in the extension's struct from the structs here; otherwise they are set from it.
struct FeatureStructs {
   VkPhysicalDeviceFeatures &core;
   VkPhysicalDeviceVulkan11Features &f11;
   VkPhysicalDeviceVulkan12Features &f12;
   VkPhysicalDeviceVulkan13Features &f13;
   bool read;

   void copy(VkBool32 &theirs, VkBool32 &ours) const
   {
      if (read)
         theirs = ours;
      else
         ours |= theirs;
   }

   template <typename T>
   void copy_struct(void *theirs, T &ours) const
   {
      auto *s = static_cast<T *>(theirs);
      void *next = s->pNext;
      if (read)
         *s = ours;
      else
         ours = *s;
      s->pNext = next;
   }

   void visit(VkBaseOutStructure *s) const
   {
      void *p = s;
      switch (s->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
         if (read)
            static_cast<VkPhysicalDeviceFeatures2 *>(p)->features = core;
         else
            core = static_cast<VkPhysicalDeviceFeatures2 *>(p)->features;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
         copy_struct(p, f11);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
         copy_struct(p, f12);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
         copy_struct(p, f13);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES: {
         auto *t = static_cast<VkPhysicalDevice16BitStorageFeatures *>(p);
         copy(t->storageBuffer16BitAccess, f11.storageBuffer16BitAccess);
         copy(t->uniformAndStorageBuffer16BitAccess, f11.uniformAndStorageBuffer16BitAccess);
         copy(t->storagePushConstant16, f11.storagePushConstant16);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES: {
         auto *t = static_cast<VkPhysicalDevice8BitStorageFeatures *>(p);
         copy(t->storageBuffer8BitAccess, f12.storageBuffer8BitAccess);
         copy(t->uniformAndStorageBuffer8BitAccess, f12.uniformAndStorageBuffer8BitAccess);
         copy(t->storagePushConstant8, f12.storagePushConstant8);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
         auto *t = static_cast<VkPhysicalDeviceShaderFloat16Int8Features *>(p);
         copy(t->shaderFloat16, f12.shaderFloat16);
         copy(t->shaderInt8, f12.shaderInt8);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
         auto *t = static_cast<VkPhysicalDeviceVulkanMemoryModelFeatures *>(p);
         copy(t->vulkanMemoryModel, f12.vulkanMemoryModel);
         copy(t->vulkanMemoryModelDeviceScope, f12.vulkanMemoryModelDeviceScope);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES:
         copy(static_cast<VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures *>(p)
                 ->shaderSubgroupExtendedTypes,
              f12.shaderSubgroupExtendedTypes);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
         copy(static_cast<VkPhysicalDeviceBufferDeviceAddressFeatures *>(p)->bufferDeviceAddress,
              f12.bufferDeviceAddress);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
         copy(static_cast<VkPhysicalDeviceShaderIntegerDotProductFeatures *>(p)
                 ->shaderIntegerDotProduct,
              f13.shaderIntegerDotProduct);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
         auto *t = static_cast<VkPhysicalDeviceSubgroupSizeControlFeatures *>(p);
         copy(t->subgroupSizeControl, f13.subgroupSizeControl);
         copy(t->computeFullSubgroups, f13.computeFullSubgroups);
         break;
      }
      default:
         break;
      }
   }
};

} // namespace weft::layer_test
