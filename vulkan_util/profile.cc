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

// Turing and later.
constexpr MatrixOperation nvidia[] = {
   floats(16, 16, 16, f16, f16),      floats(16, 16, 16, f16, f32),
   floats(16, 8, 16, f16, f16),       floats(16, 8, 16, f16, f32),
   floats(16, 8, 8, f16, f16),        floats(16, 8, 8, f16, f32),
   integers(16, 16, 32, u8, u8, u32), integers(16, 16, 32, s8, s8, s32),
   integers(16, 8, 32, u8, u8, u32),  integers(16, 8, 32, s8, s8, s32),
};

// RDNA 3, as RADV has it: any signedness of A and B, saturation with signed results only.
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

// Xe2, as ANV has it: DPAS does not saturate.
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

constexpr Profile profiles[] = {
   {"nvidia", 32, nvidia}, {"amd", 64, amd},          {"intel", 32, intel},
   {"apple", 32, apple},   {"lavapipe", 8, lavapipe},
};

} // namespace

const Profile *find_profile(std::string_view name)
{
   for (const Profile &profile : profiles) {
      if (profile.name == name)
         return &profile;
   }
   return nullptr;
}

std::string profile_names()
{
   std::string names;
   for (const Profile &profile : profiles)
      names += (names.empty() ? "" : ", ") + std::string(profile.name);
   return names;
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
