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

/// For drivers without arithmetic of 16 bits: that of floats (shaderFloat16), of integers
/// (shaderInt16) or of both becomes arithmetic of 32 bits, and conversions of halves are packing and
/// unpacking of pairs.
///
/// What is left of 16-bit floats are their bits.  Without integers, 16-bit values come from and go to
/// memory, vectors, packing, and these two conversions only, u2u16 of 32 bits and u2u32.
///
/// Runs last: what optimises could make such arithmetic again.
bool lower_halves(nir_shader *, bool has_floats, bool has_integers);

} // namespace weft::spirv
