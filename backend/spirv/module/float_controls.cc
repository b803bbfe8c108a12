// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/float_controls.h"

#include "backend/spirv/module/translator.h"

namespace weft::spirv {

void FloatControls::declare(Translator &t, Id function)
{
   struct Mode {
      unsigned flag;
      SpvExecutionMode mode;
      SpvCapability capability;
      unsigned bits;
   };
   static const Mode modes[] = {
      {FLOAT_CONTROLS_DENORM_PRESERVE_FP16, SpvExecutionModeDenormPreserve,
       SpvCapabilityDenormPreserve, 16},
      {FLOAT_CONTROLS_DENORM_PRESERVE_FP32, SpvExecutionModeDenormPreserve,
       SpvCapabilityDenormPreserve, 32},
      {FLOAT_CONTROLS_DENORM_PRESERVE_FP64, SpvExecutionModeDenormPreserve,
       SpvCapabilityDenormPreserve, 64},
      {FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP16, SpvExecutionModeDenormFlushToZero,
       SpvCapabilityDenormFlushToZero, 16},
      {FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP32, SpvExecutionModeDenormFlushToZero,
       SpvCapabilityDenormFlushToZero, 32},
      {FLOAT_CONTROLS_DENORM_FLUSH_TO_ZERO_FP64, SpvExecutionModeDenormFlushToZero,
       SpvCapabilityDenormFlushToZero, 64},
      {FLOAT_CONTROLS_SIGNED_ZERO_PRESERVE_FP16, SpvExecutionModeSignedZeroInfNanPreserve,
       SpvCapabilitySignedZeroInfNanPreserve, 16},
      {FLOAT_CONTROLS_SIGNED_ZERO_PRESERVE_FP32, SpvExecutionModeSignedZeroInfNanPreserve,
       SpvCapabilitySignedZeroInfNanPreserve, 32},
      {FLOAT_CONTROLS_SIGNED_ZERO_PRESERVE_FP64, SpvExecutionModeSignedZeroInfNanPreserve,
       SpvCapabilitySignedZeroInfNanPreserve, 64},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP16, SpvExecutionModeRoundingModeRTE,
       SpvCapabilityRoundingModeRTE, 16},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP32, SpvExecutionModeRoundingModeRTE,
       SpvCapabilityRoundingModeRTE, 32},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP64, SpvExecutionModeRoundingModeRTE,
       SpvCapabilityRoundingModeRTE, 64},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTZ_FP16, SpvExecutionModeRoundingModeRTZ,
       SpvCapabilityRoundingModeRTZ, 16},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTZ_FP32, SpvExecutionModeRoundingModeRTZ,
       SpvCapabilityRoundingModeRTZ, 32},
      {FLOAT_CONTROLS_ROUNDING_MODE_RTZ_FP64, SpvExecutionModeRoundingModeRTZ,
       SpvCapabilityRoundingModeRTZ, 64},
   };
   /* Single instructions may request it, too (SPV_KHR_float_controls2); then all preserve NaN, if
    * the driver supports that. */
   const unsigned can_preserve = (t.driver.preserve_nan_16 ? 16 : 0) |
                                 (t.driver.preserve_nan_32 ? 32 : 0) |
                                 (t.driver.preserve_nan_64 ? 64 : 0);
   for (const Mode &mode : modes) {
      const bool asked = t.shader->info.float_controls_execution_mode & mode.flag;
      const bool implied = mode.mode == SpvExecutionModeSignedZeroInfNanPreserve &&
                           preserved & can_preserve & mode.bits;
      if (!asked && !implied)
         continue;
      t.m.capability(mode.capability);
      t.extension("SPV_KHR_float_controls", 0x00010400);
      t.m.execution_mode(function, mode.mode, {mode.bits});
   }
}

} // namespace weft::spirv
