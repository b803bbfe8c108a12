// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The identity of a device (WEFT_PROFILE=…+identity), from which programs choose their code for an
/// architecture.

#include "tests/e2e/cases.h"
#include "tests/e2e/cmat_program.h"

#include <cstdlib>
#include <string>

namespace weft::e2e {

namespace {

/// The architectures that llama.cpp distinguishes, by the same properties.
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

TEST(Profile, IsRecognised)
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

/// RADV on RDNA 3: component i of an accumulator has row i * W / 16 + lane / 16 and column lane %
/// 16 (radv_nir_lower_cooperative_matrix.c of Mesa 25.0.7). Programs for AMD's devices rely on it.
TEST(Profile, AccumulatorsLieAsTheVendors)
{
   const char *variable = getenv("WEFT_PROFILE");
   if (!variable || std::string(variable) != "amd+identity")
      GTEST_SKIP() << "WEFT_PROFILE is not amd+identity";
   Device &device = plain_device();
   for (const ComponentType type : {ComponentType::f16, ComponentType::f32, ComponentType::s32}) {
      for (const uint32_t size : {32u, 64u}) {
         oracle::Matrix places(type, 16, 16);
         for (uint32_t row = 0; row < 16; row++) {
            for (uint32_t col = 0; col < 16; col++)
               oracle::encode_number(type, row * 16 + col, places.at(row, col));
         }
         const MatrixType accumulator = {type, 16, 16, Use::accumulator};
         const MatrixProgram program = {
            .inputs = {accumulator},
            .outputs = {accumulator},
            .body = R"(   r0 = m0;
   for (uint i = 0; i < m0.length(); i++)
      side[i * gl_SubgroupSize + gl_SubgroupInvocationID] = uint(m0[i]);
)",
            .subgroup_size = size,
            .side_words = 256,
         };
         const ProgramResult result = run_program(device, program, {places});
         for (uint32_t i = 0; i < 256 / size; i++) {
            for (uint32_t lane = 0; lane < size; lane++) {
               const uint32_t row = i * size / 16 + lane / 16, col = lane % 16;
               ASSERT_EQ(result.side[i * size + lane], row * 16 + col)
                  << "component " << i << " of lane " << lane << " of " << size;
            }
         }
      }
   }
}

} // namespace weft::e2e
