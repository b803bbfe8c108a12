// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// For a back end whose memory is typed: every access to buffers, push constants and global memory
/// becomes accesses of whole units, as large as the alignment allows.
///
/// | memory          | units                                             | place              |
/// |-----------------|---------------------------------------------------|--------------------|
/// | storage buffers | u8, u16, u32, u32×2, u32×4; an atomic's own size  | number of the unit |
/// |   of tiles      | a component; also what the stride counts          | number of the unit |
/// | uniform buffers | u32, u32×2, u32×4                                 | number of the u32  |
/// | push constants  | u32                                               | number of the u32  |
/// | global memory   | as storage buffers                                | address            |
///
/// Where there are no units of u8 or u16, a part of a word is loaded by a shift, and stored by exchanging
/// the word for as long as other invocations change it meanwhile: they may store the rest of it, or,
/// where a tensor has several elements in one place, the same.
///
/// What is coherent or volatile is not joined or taken apart.  The place is the intrinsic's offset
/// source.  Runs once, after everything that reads byte offsets.
///
/// An Error for a store of a part of a word that Mesa's pass below takes apart in an unknown way.
struct SmallUnits {
   bool bytes = true, halves = true;
};
Result<bool> lower_access_units(nir_shader *, SmallUnits = {});

} // namespace weft
