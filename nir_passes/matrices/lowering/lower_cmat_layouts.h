// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Expands loads and stores of matrices in blocks (cmat_load_blocked_weft;
/// SPV_ARM_cooperative_matrix_layouts) to loops over an invocation's components.
///
/// A block has 64 bytes: 4 rows of 16 bytes. Blocks are numbered along the matrix's rows
/// (row-blocked) or columns. Each group of S blocks, where S is the access's stride, is interleaved
/// word by word:
///
///     a block of f16          a group with S = 2, words in memory
///     word 0  word 1 … 3      block  0   1   0   1   0  …   1
///     word 4  word 5 … 7      word   0   0   1   1   2  …  15
///     word 8  word 9 …
///     word 12 …    word 15
///
/// Elements of 64 bits are two words, which interleaving separates.
///
/// With robust access, elements outside of their storage buffer are 0 and not stored.
///
/// Assumes that pointers are derefs.
bool lower_cmat_layouts(nir_shader *, bool robust_access);

} // namespace weft
