// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/compiler.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// Whether 16-bit floats have arithmetic. That requires 16-bit integers too, because these hold the
/// bits of the floats.
inline bool has_half_floats(const Driver &driver)
{
   return driver.float16 && driver.int16;
}

/// The arithmetic below 32 bits that the driver has.
struct SmallArithmetic {
   bool half_floats, shorts, bytes;
};
inline SmallArithmetic small_arithmetic(const Driver &driver)
{
   return {has_half_floats(driver), driver.int16, driver.int8};
}

/// Replaces arithmetic of 16 or 8 bits for drivers without it. Float arithmetic (without
/// shaderFloat16) and integer arithmetic (without shaderInt16, shaderInt8) becomes arithmetic of 32
/// bits. Conversions of halves become packing and unpacking of pairs.
///
/// 16-bit floats then occur only as bits. Without integers of a size, only memory accesses,
/// vectors, packing and two conversions use values of that size: u2u16 or u2u8 of 32 bits, and
/// u2u32.
///
/// Runs last: optimisations could create such arithmetic again.
bool lower_small_arithmetic(nir_shader *, SmallArithmetic);

} // namespace weft::spirv
