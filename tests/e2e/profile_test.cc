// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a program sees that chooses its path by a device's architecture (WEFT_PROFILE=…+identity).

#include "tests/e2e/cases.h"

#include <cstdlib>
#include <string>

namespace weft::e2e {

namespace {

/// The architectures that llama.cpp tells apart, by the same properties.
enum class Architecture { other, amd_gcn, amd_rdna, intel_xe2, intel_older };

Architecture architecture(const Device &device)
{
   const VkPhysicalDeviceVulkan13Properties &sizes = device.properties13;
   switch (device.properties.vendorID) {
   case 0x1002:
      return sizes.maxSubgroupSize == 64 && sizes.minSubgroupSize == 64   ? Architecture::amd_gcn
             : sizes.maxSubgroupSize == 64 && sizes.minSubgroupSize == 32 ? Architecture::amd_rdna
                                                                          : Architecture::other;
   case 0x8086:
      return sizes.minSubgroupSize == 16 ? Architecture::intel_xe2 : Architecture::intel_older;
   default:
      return Architecture::other;
   }
}

} // namespace

TEST(profile, is_recognised)
{
   const char *variable = getenv("WEFT_PROFILE");
   const std::string profile = variable ? variable : "";
   if (!profile.ends_with("+identity"))
      GTEST_SKIP() << "WEFT_PROFILE names no identity";
   const Device &device = plain_device();
   EXPECT_EQ(architecture(device), profile == "intel+identity" ? Architecture::intel_xe2
                                   : profile == "amd+identity" ? Architecture::amd_rdna
                                                               : Architecture::other);
   EXPECT_FALSE(device.matrix_properties.empty());
   EXPECT_LE(device.properties13.minSubgroupSize, device.properties11.subgroupSize);
   EXPECT_GE(device.properties13.maxSubgroupSize, device.properties11.subgroupSize);
   count_case();
}

} // namespace weft::e2e
