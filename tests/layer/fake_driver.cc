// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fake_driver.h"

#include "tests/layer/allocation.h"
#include "tests/layer/fake_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

FakeDriver *driver;

static PFN_vkVoidFunction look_up(std::span<const Command> commands, const char *name)
{
   for (const Command &command : commands) {
      if (strcmp(command.name, name) == 0)
         return !command.extension || driver->has_extension(command.extension) ? command.function
                                                                               : nullptr;
   }
   return nullptr;
}

FakeDriver::FakeDriver()
{
   driver = this;
   native_properties = {{.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
                         .MSize = 7,
                         .NSize = 7,
                         .KSize = 7,
                         .AType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .BType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .CType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .ResultType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .scope = VK_SCOPE_SUBGROUP_KHR}};
   extensions = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
                 VK_KHR_PIPELINE_BINARY_EXTENSION_NAME, VK_EXT_SHADER_OBJECT_EXTENSION_NAME,
                 VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME};
   features.shaderInt16 = features.shaderInt64 = VK_TRUE;
   features11.storageBuffer16BitAccess = VK_TRUE;
   features12.storageBuffer8BitAccess = features12.shaderFloat16 = features12.shaderInt8 = VK_TRUE;
   features12.vulkanMemoryModel = features12.bufferDeviceAddress = VK_TRUE;
   features13.subgroupSizeControl = features13.computeFullSubgroups = VK_TRUE;
   for (auto [type, at] :
        {std::pair(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &features11.sType),
         {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &features12.sType},
         {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, &features13.sType}})
      *at = type;
}

FakeDriver::~FakeDriver()
{
   for (const auto &[handle, type] : objects)
      ADD_FAILURE() << "a " << type << " was never destroyed";
   driver = nullptr;
}

void FakeDriver::fail(const std::string &command, VkResult result, uint32_t nth)
{
   failures[command][call_counts[command] + nth] = result;
}

bool FakeDriver::has_extension(const std::string &name) const
{
   return std::ranges::find(extensions, name) != extensions.end();
}

uint32_t FakeDriver::calls(const std::string &command) const
{
   auto it = call_counts.find(command);
   return it == call_counts.end() ? 0 : it->second;
}

size_t FakeDriver::live() const
{
   std::lock_guard lock(mutex);
   return objects.size();
}

VkResult FakeDriver::enter(const char *command)
{
   std::lock_guard lock(mutex);
   const uint32_t count = call_counts[command]++;
   const auto &failing = failures[command];
   auto it = failing.find(count);
   return it == failing.end() ? VK_SUCCESS : it->second;
}

uint64_t FakeDriver::add(const char *type)
{
   std::lock_guard lock(mutex);
   static uint64_t last = 0x1000;
   objects.emplace(++last, type);
   return last;
}

void FakeDriver::remove(uint64_t handle, const char *type)
{
   std::lock_guard lock(mutex);
   auto it = handle ? objects.find(handle)
                    : std::ranges::find_if(objects, [&](auto &o) { return o.second == type; });
   if (it == objects.end() || it->second != type)
      ADD_FAILURE() << "a " << type << " is destroyed that is not there";
   else
      objects.erase(it);
}

std::vector<uint32_t> FakeDriver::words_of(VkShaderModule module) const
{
   std::lock_guard lock(mutex);
   if (!objects.contains(number(module)))
      ADD_FAILURE() << "a module is used that is not there";
   auto it = module_words.find(number(module));
   return it == module_words.end() ? std::vector<uint32_t>() : it->second;
}

uint64_t FakeDriver::add_module(const std::vector<uint32_t> &words)
{
   std::lock_guard lock(mutex);
   for (const auto &[handle, present] : module_words) {
      if (equal_handles && present == words && objects.contains(handle)) {
         objects.emplace(handle, "module");
         return handle;
      }
   }
   const uint64_t handle = add("module");
   module_words[handle] = words;
   return handle;
}

PFN_vkVoidFunction VKAPI_CALL FakeDriver::get_instance_proc_addr(VkInstance, const char *name)
{
   WithoutInjection w;
   const PFN_vkVoidFunction function = look_up(instance_commands(), name);
   return function ? function : look_up(device_commands(), name);
}

PFN_vkVoidFunction VKAPI_CALL FakeDriver::get_device_proc_addr(VkDevice, const char *name)
{
   WithoutInjection w;
   return look_up(device_commands(), name);
}

} // namespace weft::layer_test
