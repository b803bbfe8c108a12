// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "vulkan_util/profile.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using enum ComponentType;

constexpr MatrixOperation large = {16, 16, 16, f16, f16, f32, f32, false},
                          wide = {8, 16, 16, f16, f16, f32, f32, false},
                          small = {8, 8, 8, f16, f16, f32, f32, false};

using Operations = std::vector<MatrixOperation>;

TEST(AdvertisedOperations, SmallTilesComeFirstForSmallSubgroups)
{
   const Operations all = {large, wide, small};
   EXPECT_EQ(advertised_operations(all, nullptr, 16), all);
   EXPECT_EQ(advertised_operations(all, nullptr, 8), (Operations{wide, small, large}));
}

TEST(AdvertisedOperations, AreThoseOfTheProfileThatThereAre)
{
   EXPECT_EQ(advertised_operations({large, wide, small}, find_profile("intel"), 32),
             Operations{wide});
   EXPECT_TRUE(advertised_operations({large}, find_profile("apple"), 32).empty());
}

TEST(Profiles, AreFoundByName)
{
   EXPECT_EQ(find_profile("amd")->subgroup_size, 64u);
   EXPECT_EQ(find_profile("voodoo"), nullptr);
   EXPECT_EQ(profile_choices(), "none, nvidia, nvidia+identity, amd, amd+identity, intel, "
                                "intel+identity, apple, apple+identity, lavapipe");
}

TEST(Profiles, AreChosenWithAndWithoutAnIdentity)
{
   EXPECT_EQ(parse_profile("none")->profile, nullptr);
   EXPECT_EQ(parse_profile("amd")->profile, find_profile("amd"));
   EXPECT_EQ(parse_profile("amd")->identity, nullptr);
   EXPECT_EQ(parse_profile("amd+identity")->profile, find_profile("amd"));
   EXPECT_EQ(parse_profile("amd+identity")->identity, find_profile("amd")->identity);
   for (const char *wrong : {"", "voodoo", "voodoo+identity", "none+identity", "lavapipe+identity",
                             "+identity", "amd+", "amd+identity+identity"})
      EXPECT_FALSE(parse_profile(wrong)) << wrong;
}

TEST(Profiles, AreReadFromASetting)
{
   const ProfileSetting none = read_profile("", true);
   EXPECT_TRUE(!none.choice.profile && none.problem.empty() && !none.refused);
   const ProfileSetting unknown = read_profile("voodoo", true);
   EXPECT_TRUE(!unknown.choice.profile && !unknown.refused);
   EXPECT_EQ(unknown.problem, "expected one of " + profile_choices());
   const ProfileSetting tiles = read_profile("amd+identity", false),
                        registers = read_profile("amd+identity", true);
   EXPECT_EQ(tiles.choice.identity, find_profile("amd")->identity);
   EXPECT_TRUE(tiles.problem.empty() && !tiles.refused);
   EXPECT_TRUE(!registers.choice.profile && registers.refused);
   EXPECT_NE(registers.problem.find("refused"), std::string::npos);
}

TEST(Profiles, HaveTextsForPeople)
{
   for (const Profile &profile : profiles()) {
      EXPECT_EQ(find_profile(profile.name), &profile);
      EXPECT_FALSE(profile.label.empty());
      EXPECT_TRUE(profile.hardware.ends_with("."));
   }
}

TEST(Profiles, PresentSubgroupSizes)
{
   const auto sizes = [](SubgroupSizes device, const char *profile, uint32_t size) {
      const Identity *identity = find_profile(profile)->identity;
      const SubgroupSizes s = presented_sizes(device, identity, size);
      return std::pair(s.min, s.max);
   };
   EXPECT_EQ(sizes({8, 64}, "intel", 32), std::pair(16u, 32u));
   EXPECT_EQ(sizes({8, 64}, "intel", 8), std::pair(8u, 64u)); // a size that the vendor lacks
   EXPECT_EQ(sizes({8, 16}, "intel", 16), std::pair(16u, 16u));
   EXPECT_EQ(sizes({8, 64}, "lavapipe", 8), std::pair(8u, 64u)); // no identity
   for (const char *name : {"nvidia", "amd", "intel", "apple"}) {
      const Profile *profile = find_profile(name);
      EXPECT_LE(profile->identity->sizes.min, profile->subgroup_size) << name;
      EXPECT_GE(profile->identity->sizes.max, profile->subgroup_size) << name;
   }
}

TEST(Profiles, PresentIdentities)
{
   const Identity &identity = *find_profile("amd")->identity;
   VkPhysicalDeviceProperties device = {};
   present_device(identity, device);
   EXPECT_EQ(device.vendorID, 0x1002u);
   EXPECT_EQ(device.deviceID, 0x744cu);
   EXPECT_STREQ(device.deviceName, "AMD Radeon RX 7900 XTX (RADV NAVI31)");
   VkPhysicalDeviceDriverProperties driver = {};
   copy_text(driver.driverName, "llvmpipe");
   copy_text(driver.driverInfo, "Mesa 25");
   for (int i = 0; i < 2; ++i) {
      present_driver(identity, driver);
      EXPECT_EQ(driver.driverID, VK_DRIVER_ID_MESA_RADV);
      EXPECT_STREQ(driver.driverName, "radv");
      EXPECT_STREQ(driver.driverInfo, "llvmpipe Mesa 25");
   }
   VkPhysicalDeviceDriverProperties weft = {};
   copy_text(weft.driverName, "Weft");
   copy_text(weft.driverInfo, "Weft 1.2");
   present_driver(identity, weft);
   EXPECT_STREQ(weft.driverInfo, "Weft 1.2");
}

} // namespace
} // namespace weft
