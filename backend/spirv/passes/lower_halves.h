// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/compiler.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// Whether floats of 16 bits have arithmetic.  Without integers of that size they have not: nothing
/// could hold their bits.
inline bool has_half_floats(const Driver &driver)
{
   return driver.float16 && driver.int16;
}

/// What arithmetic of fewer bits than 32 there is.
struct SmallArithmetic {
   bool half_floats, shorts, bytes;
};
inline SmallArithmetic small_arithmetic(const Driver &driver)
{
   return {has_half_floats(driver), driver.int16, driver.int8};
}

/// For drivers without arithmetic of 16 or 8 bits: that of floats (shaderFloat16), of integers
/// (shaderInt16, shaderInt8) becomes arithmetic of 32 bits, and conversions of halves are packing and
/// unpacking of pairs.
///
/// What is left of 16-bit floats are their bits.  Without integers of a size, values of it come from
/// and go to memory, vectors, packing, and these two conversions only, u2u16 or u2u8 of 32 bits and
/// u2u32.
///
/// Runs last: what optimises could make such arithmetic again.
bool lower_halves(nir_shader *, SmallArithmetic);

} // namespace weft::spirv
