// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Queries about control flow, for passes and the translator.

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// The innermost loop around an instruction; null if there is none.
const nir_loop *innermost_loop(const nir_instr *);

/// Whether a block, an if or a list of nodes contains a jump of the loop around it.
bool contains_jump(nir_cf_node *);
bool contains_jump(exec_list *);

/// Whether subgroups wait for each other at an instruction, or in a loop.
bool is_control_barrier(const nir_instr *);
/// False for a loop that only gives breaks a place to go, as of returns in the middle of a shader.
bool runs_again(const nir_loop *);
bool has_control_barrier(const nir_loop *);

/// The innermost loop around an instruction that runs again; null if there is none.
const nir_loop *innermost_repeated_loop(const nir_instr *);
/// The innermost loop with a control barrier around an instruction; null if there is none.
const nir_loop *innermost_barrier_loop(const nir_instr *);

} // namespace weft::cpu
