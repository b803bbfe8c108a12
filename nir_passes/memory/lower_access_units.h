// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// For a back end with typed memory: every access to buffers, push constants and global memory
/// becomes accesses of whole units, as large as the alignment allows.
///
/// | memory          | units                                             | place              |
/// |-----------------|---------------------------------------------------|--------------------|
/// | storage buffers | u8, u16, u32, u32×2, u32×4; an atomic's own size  | number of the unit |
/// |   of tiles      | a component, in which the stride counts           | number of the unit |
/// | uniform buffers | u32, u32×2, u32×4                                 | number of the u32  |
/// | push constants  | u32                                               | number of the u32  |
/// | global memory   | as storage buffers                                | address            |
///
/// Without units of u8 or u16, a load of a part of a word shifts. A store exchanges the word, and
/// repeats that while other invocations change the word. They may store another part of it. If a
/// tensor has several elements in one place, they may store the same part.
///
/// Coherent and volatile accesses are neither joined nor split. The place is the intrinsic's offset
/// source. Runs once, after all passes that read byte offsets.
///
/// Returns an Error for a store of a part of a word that Mesa's pass splits in an unknown way.
struct SmallUnits {
   bool bytes = true, halves = true;
};
Result<bool> lower_access_units(nir_shader *, SmallUnits = {});

} // namespace weft
