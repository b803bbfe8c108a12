// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

struct CombineOptions {
   /// Leaves accesses to uniform and storage buffers as they are.
   bool keep_buffers = false;
   /// The back end checks each component of an access separately, at its own offset modulo 2^32: a
   /// first component out of bounds implies nothing about later ones.
   bool checks_components = false;
};

/// Combines loads, and stores, of neighbouring buffer, shared and global memory into vectors of up
/// to 32 bytes. No access moves across a tile operation on these memories. Runs after
/// nir_lower_explicit_io.
bool opt_combine_accesses(nir_shader *, const CombineOptions &);

} // namespace weft
