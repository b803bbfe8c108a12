// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The commands of Vulkan 1.4. Its limits and features are in limit_test.cc.

#include "tests/icd/fixture.h"

namespace weft::icd_test {

namespace {

/// The first parameter of a command, which decides about its address (vkGetInstanceProcAddr).
enum class Level { none, instance, device };

struct CoreCommand {
   const char *name;
   Level level;
   uint32_t version; ///< the first one with the command
};

constexpr CoreCommand core_commands[] = {
#include "core_commands.inc"
};

using CoreVersionTest = IcdTest;

} // namespace

TEST_F(CoreVersionTest, DeviceHasVulkan14)
{
   VkPhysicalDeviceProperties properties;
   vkGetPhysicalDeviceProperties(physical, &properties);
   EXPECT_EQ(VK_API_VERSION_VARIANT(properties.apiVersion), 0u);
   EXPECT_EQ(VK_API_VERSION_MAJOR(properties.apiVersion), 1u);
   EXPECT_EQ(VK_API_VERSION_MINOR(properties.apiVersion), 4u);
   EXPECT_GE(properties.apiVersion, VK_HEADER_VERSION_COMPLETE);
}

/// A device has the commands of the version that the program requests, and no later ones.
TEST_F(CoreVersionTest, CommandsHaveAddresses)
{
   // Not 1.0: the loader has vkGetDeviceQueue2 for every program.
   for (uint32_t version :
        {VK_API_VERSION_1_1, VK_API_VERSION_1_2, VK_API_VERSION_1_3, VK_API_VERSION_1_4}) {
      VkInstance program = vulkan::create_instance({.api_version = version});
      VkDevice bare = VK_NULL_HANDLE;
      ASSERT_VK(vulkan::try_device(get_physical_device(program), {}, &bare));
      for (const auto &[name, level, first_version] : core_commands) {
         if (level == Level::device) {
            EXPECT_EQ(vkGetDeviceProcAddr(bare, name) != nullptr, first_version <= version)
               << name << " of " << VK_API_VERSION_MINOR(version);
         } else if (first_version <= version) {
            VkInstance asked = level == Level::instance ? program : VK_NULL_HANDLE;
            EXPECT_NE(vkGetInstanceProcAddr(asked, name), nullptr) << name;
         }
      }
      vkDestroyDevice(bare, nullptr);
      vkDestroyInstance(program, nullptr);
   }
}

} // namespace weft::icd_test
