// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Combines loads, and stores, of neighbouring buffer, shared and global memory into vectors of up
/// to 32 bytes.  Never across a tile operation on such memory.  Runs after nir_lower_explicit_io.
/// With `keep_buffers` those of uniform and storage buffers stay as they are.
bool opt_combine_accesses(nir_shader *, bool keep_buffers);

} // namespace weft
