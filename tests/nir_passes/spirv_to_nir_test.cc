// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which capabilities a module may declare.

#include "nir_passes/front_end/spirv_to_nir.h"

#include "tests/nir_passes/shaders.h"

#include "compiler/spirv/spirv.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// The error of a module that declares the capability, used or not; empty if it is taken.
std::string error_with(SpvCapability capability, Consumer consumer)
{
   test::Source source = test::compile("void main() {}");
   const uint32_t declaration[] = {2u << 16 | SpvOpCapability, uint32_t(capability)};
   source.spirv.insert(source.spirv.begin() + 5, std::begin(declaration), std::end(declaration));
   const Result<Shader> shader = spirv_to_nir(source.shader_source(), consumer, 32);
   return shader ? "" : shader.error().message;
}

TEST(Capabilities, WhatNobodyAdvertisesIsRefusedByName)
{
   const std::pair<SpvCapability, const char *> refused[] = {
      {SpvCapabilityRoundingModeRTZ, "RoundingModeRTZ"},
      {SpvCapabilityDenormFlushToZero, "DenormFlushToZero"},
      {SpvCapabilityGeometry, "Geometry"},
      {SpvCapabilityTessellation, "Tessellation"},
      {SpvCapabilityInterpolationFunction, "InterpolationFunction"},
      {SpvCapabilityStorageInputOutput16, "StorageInputOutput16"},
   };
   for (const auto &[capability, name] : refused)
      EXPECT_EQ(error_with(capability, Consumer::cpu),
                std::string("the SPIR-V capability ") + name + " is not supported");
   for (SpvCapability capability : {SpvCapabilitySparseResidency, SpvCapabilityMinLod})
      EXPECT_NE(error_with(capability, Consumer::driver), "") << capability;
}

TEST(Capabilities, WhatVulkanRequiresIsTakenAlthoughNothingUsesIt)
{
   for (SpvCapability capability :
        {SpvCapabilityInputAttachment, SpvCapabilitySampled1D, SpvCapabilityImage1D,
         SpvCapabilitySampledBuffer, SpvCapabilityImageBuffer, SpvCapabilityImageQuery,
         SpvCapabilityDerivativeControl, SpvCapabilityStorageImageReadWithoutFormat,
         SpvCapabilityStorageImageWriteWithoutFormat, SpvCapabilityDemoteToHelperInvocation,
         SpvCapabilityDotProduct, SpvCapabilityPhysicalStorageBufferAddresses,
         SpvCapabilityInt64Atomics, SpvCapabilityRoundingModeRTE, SpvCapabilityDenormPreserve,
         SpvCapabilitySignedZeroInfNanPreserve, SpvCapabilityGroupNonUniformQuad}) {
      EXPECT_EQ(error_with(capability, Consumer::cpu), "") << capability;
      EXPECT_EQ(error_with(capability, Consumer::driver), "") << capability;
   }
}

/// A driver below the layer may have them, and other entry points of the module may need them.
TEST(Capabilities, TheDriversOwnAreTakenForIt)
{
   for (SpvCapability capability :
        {SpvCapabilityRoundingModeRTZ, SpvCapabilityDenormFlushToZero,
         SpvCapabilitySampledCubeArray, SpvCapabilityImageGatherExtended, SpvCapabilityGeometry,
         SpvCapabilityTessellation, SpvCapabilityClipDistance})
      EXPECT_EQ(error_with(capability, Consumer::driver), "") << capability;
}

} // namespace
} // namespace weft
