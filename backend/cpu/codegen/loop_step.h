// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>
#include <optional>

namespace weft::cpu {

/// By how much an integer grows from one iteration of a loop to the next, modulo 2^64; nothing where it is not seen
/// to be a constant.  Low bits that a mask takes away count: the
/// number is for guesses.
std::optional<int64_t> loop_step(const nir_scalar &, const nir_loop *);

/// Whether a value may be another for the next workgroup along x.  What memory holds is taken to be the same.
bool depends_on_workgroup_x(const nir_scalar &);

/// The innermost loop around an instruction; null if there is none.
const nir_loop *innermost_loop(const nir_instr *);

/// Whether a block, an if or a list of them holds a jump of the loop around it.
bool contains_jump(nir_cf_node *);
bool contains_jump(exec_list *);

/// Whether subgroups wait for each other in a loop.
bool has_control_barrier(const nir_loop *);

} // namespace weft::cpu
