// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "vulkan_util/profile.h"

#include <algorithm>

namespace weft {

namespace {

using enum ComponentType;

constexpr MatrixOperation floats(uint32_t m, uint32_t n, uint32_t k, ComponentType ab,
                                 ComponentType c)
{
   return {m, n, k, ab, ab, c, c, false};
}

constexpr MatrixOperation integers(uint32_t m, uint32_t n, uint32_t k, ComponentType a,
                                   ComponentType b, ComponentType c, bool saturating = false)
{
   return {m, n, k, a, b, c, c, saturating};
}

// Turing and later; bfloat16 from Ampere on.
constexpr MatrixOperation nvidia[] = {
   floats(16, 16, 16, f16, f16),      floats(16, 16, 16, f16, f32),
   floats(16, 8, 16, f16, f16),       floats(16, 8, 16, f16, f32),
   floats(16, 8, 8, f16, f16),        floats(16, 8, 8, f16, f32),
   integers(16, 16, 32, u8, u8, u32), integers(16, 16, 32, s8, s8, s32),
   integers(16, 8, 32, u8, u8, u32),  integers(16, 8, 32, s8, s8, s32),
   floats(16, 16, 16, bf16, f32),
};

// RDNA 3, as RADV reports it: any signedness of A and B, saturation with signed results only.
constexpr MatrixOperation amd[] = {
   floats(16, 16, 16, f16, f16),
   floats(16, 16, 16, f16, f32),
   integers(16, 16, 16, u8, u8, u32),
   integers(16, 16, 16, u8, u8, s32),
   integers(16, 16, 16, u8, u8, s32, true),
   integers(16, 16, 16, u8, s8, u32),
   integers(16, 16, 16, u8, s8, s32),
   integers(16, 16, 16, u8, s8, s32, true),
   integers(16, 16, 16, s8, u8, u32),
   integers(16, 16, 16, s8, u8, s32),
   integers(16, 16, 16, s8, u8, s32, true),
   integers(16, 16, 16, s8, s8, u32),
   integers(16, 16, 16, s8, s8, s32),
   integers(16, 16, 16, s8, s8, s32, true),
};

// Xe2, as ANV reports it: DPAS does not saturate.
constexpr MatrixOperation intel[] = {
   floats(8, 16, 16, f16, f32),
   integers(8, 16, 32, s8, s8, s32),
   integers(8, 16, 32, u8, u8, u32),
};

// simdgroup_matrix of the M series.
constexpr MatrixOperation apple[] = {
   floats(8, 8, 8, f16, f16),
   floats(8, 8, 8, f32, f32),
};

// Mesa 26.1.
constexpr MatrixOperation lavapipe[] = {
   floats(8, 8, 8, f16, f16),
   floats(8, 8, 8, f16, f32),
   integers(8, 8, 8, u8, u8, u32),
   integers(8, 8, 8, s8, s8, s32),
};

constexpr std::string_view khr_alone[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
// The list excludes extensions newer than driver 580: decode functions of vectors, maintenance1,
// float8.
constexpr std::string_view nvidia_extensions[] = {
   VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
   VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
   VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
   VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
};

constexpr Identity h200 = {
   .vendor_id = 0x10de,
   .device_id = 0x2335,
   .device_name = "NVIDIA H200",
   .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
   .driver_name = "NVIDIA",
   .driver_version = 580u << 22 | 159u << 14,
   .sizes = {32, 32},
   .extensions = nvidia_extensions,
};
constexpr Identity navi31 = {
   .vendor_id = 0x1002,
   .device_id = 0x744c,
   .device_name = "AMD Radeon RX 7900 XTX (RADV NAVI31)",
   .driver_id = VK_DRIVER_ID_MESA_RADV,
   .driver_name = "radv",
   .driver_version = VK_MAKE_API_VERSION(0, 25, 0, 7),
   .sizes = {32, 64},
   .extensions = khr_alone, // bfloat16 from RDNA 4 on
   .places_elements = true,
};
constexpr Identity bmg_g21 = {
   .vendor_id = 0x8086,
   .device_id = 0xe20b,
   .device_name = "Intel(R) Graphics (BMG G21)",
   .driver_id = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
   .driver_name = "Intel open-source Mesa driver",
   .driver_version = VK_MAKE_API_VERSION(0, 25, 0, 7),
   .sizes = {16, 32},
   .extensions = khr_alone,
};
constexpr Identity m1_pro = {
   .vendor_id = 0x106b,
   .device_id = 0x1a020207,
   .device_name = "Apple M1 Pro",
   .driver_id = VK_DRIVER_ID_MOLTENVK,
   .driver_name = "MoltenVK",
   .driver_version = 10400,
   .sizes = {4, 32},
   .extensions = khr_alone,
};

constexpr Profile all_profiles[] = {
   {"nvidia", "NVIDIA", "Turing and later.", 32, nvidia, &h200},
   {"amd", "AMD", "RDNA 3 with RADV.", 64, amd, &navi31},
   {"intel", "Intel", "Xe2 with ANV.", 32, intel, &bmg_g21},
   {"apple", "Apple", "M series with MoltenVK.", 32, apple, &m1_pro},
   {"lavapipe", "lavapipe", "Mesa 26.1.", 8, lavapipe, nullptr},
};

constexpr std::string_view with_identity = "+identity";

} // namespace

std::span<const Profile> profiles()
{
   return all_profiles;
}

const Profile *find_profile(std::string_view name)
{
   const auto *found = std::ranges::find(all_profiles, name, &Profile::name);
   return found == std::end(all_profiles) ? nullptr : found;
}

std::optional<ProfileChoice> parse_profile(std::string_view text)
{
   if (text == "none")
      return ProfileChoice{};
   const bool identity = text.ends_with(with_identity);
   if (identity)
      text.remove_suffix(with_identity.size());
   const Profile *profile = find_profile(text);
   if (!profile || (identity && !profile->identity))
      return std::nullopt;
   return ProfileChoice{profile, identity ? profile->identity : nullptr};
}

std::string profile_choices()
{
   std::string choices = "none";
   for (const Profile &profile : all_profiles) {
      choices += ", " + std::string(profile.name);
      if (profile.identity)
         choices += ", " + std::string(profile.name) + std::string(with_identity);
   }
   return choices;
}

std::string why_no_registers(const ProfileChoice &choice)
{
   if (!choice.identity || !choice.identity->places_elements)
      return {};
   return std::string(choice.profile->name) + std::string(with_identity) +
          " is refused: programs for these devices rely on the layout of an accumulator's "
          "elements, and matrices in registers have another layout; '" +
          std::string(choice.profile->name) + "' imitates the rest";
}

ProfileSetting read_profile(std::string_view text, bool registers)
{
   ProfileSetting setting;
   if (text.empty())
      return setting;
   const std::optional<ProfileChoice> choice = parse_profile(text);
   if (!choice) {
      setting.problem = "expected one of " + profile_choices();
      return setting;
   }
   if (registers)
      setting.problem = why_no_registers(*choice);
   setting.refused = !setting.problem.empty();
   if (!setting.refused)
      setting.choice = *choice;
   return setting;
}

std::string describe(const Identity &identity)
{
   char numbers[64];
   snprintf(numbers, sizeof(numbers), "vendor 0x%04x, device 0x%04x, driver %d", identity.vendor_id,
            identity.device_id, int(identity.driver_id));
   return std::string(identity.device_name) + " (" + numbers + ": " + identity.driver_name + ")";
}

SubgroupSizes presented_sizes(SubgroupSizes device, const Identity *identity, uint32_t size)
{
   if (!identity || size < identity->sizes.min || size > identity->sizes.max)
      return device;
   return {std::max(device.min, identity->sizes.min), std::min(device.max, identity->sizes.max)};
}

std::vector<MatrixOperation> advertised_operations(std::vector<MatrixOperation> operations,
                                                   const Profile *profile, uint32_t subgroup_size)
{
   if (profile) {
      std::erase_if(operations, [&](const MatrixOperation &op) {
         return std::ranges::find(profile->operations, op) == profile->operations.end();
      });
   }
   std::ranges::stable_partition(operations,
                                 [&](const MatrixOperation &op) { return op.m <= subgroup_size; });
   return operations;
}

} // namespace weft
