// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/driver_quirks.h"

#include <cstring>
#include <gtest/gtest.h>

namespace weft {
namespace {

spirv::Driver with_quirks(VkDriverId id, uint32_t version)
{
   spirv::Driver driver = spirv::full_driver();
   spirv::apply_driver_quirks(driver, id, version);
   return driver;
}

uint32_t nvidia(uint32_t major, uint32_t minor, uint32_t patch)
{
   return major << 22 | minor << 14 | patch << 6;
}

TEST(DriverQuirks, PartialBarriersAreNotForLavapipe)
{
   EXPECT_FALSE(with_quirks(VK_DRIVER_ID_MESA_LLVMPIPE, 1).partial_barriers);
   EXPECT_TRUE(with_quirks(VK_DRIVER_ID_MESA_LLVMPIPE, 1).subgroup_arithmetic_with_matrices);
   EXPECT_TRUE(with_quirks(VK_DRIVER_ID_MESA_RADV, 1).partial_barriers);
   EXPECT_TRUE(with_quirks(VkDriverId(0), 0).partial_barriers);
}

TEST(DriverQuirks, OwnMatricesAreNotForLavapipe)
{
   EXPECT_FALSE(with_quirks(VK_DRIVER_ID_MESA_LLVMPIPE, 1).own_matrices);
   EXPECT_TRUE(with_quirks(VK_DRIVER_ID_MESA_RADV, 1).own_matrices);
}

TEST(DriverQuirks, SubgroupArithmeticBesideMatricesIsNotForNvidia595)
{
   const auto may = [](VkDriverId id, uint32_t version) {
      return with_quirks(id, version).subgroup_arithmetic_with_matrices;
   };
   EXPECT_FALSE(may(VK_DRIVER_ID_NVIDIA_PROPRIETARY, nvidia(595, 58, 3)));
   EXPECT_FALSE(may(VK_DRIVER_ID_NVIDIA_PROPRIETARY, nvidia(595, 0, 0)));
   EXPECT_FALSE(may(VK_DRIVER_ID_NVIDIA_PROPRIETARY, nvidia(595, 255, 63)));
   EXPECT_TRUE(may(VK_DRIVER_ID_NVIDIA_PROPRIETARY, nvidia(594, 255, 63)));
   EXPECT_TRUE(may(VK_DRIVER_ID_NVIDIA_PROPRIETARY, nvidia(596, 0, 0)));
   EXPECT_TRUE(may(VK_DRIVER_ID_MESA_NVK, nvidia(595, 58, 3)));
}

TEST(DriverQuirks, EachRowSaysWhatWhyAndWhere)
{
   for (const spirv::DriverQuirk &q : spirv::driver_quirks()) {
      EXPECT_LE(q.first_version, q.last_version) << q.what;
      for (const char *text : {q.what, q.why, q.test})
         EXPECT_TRUE(text && strlen(text) > 10);
   }
}

} // namespace
} // namespace weft
