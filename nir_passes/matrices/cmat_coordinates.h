// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Where the elements of matrices are, as NIR: made from element_map.h and register_map.h, and the
/// one place from which passes learn it.

#pragma once

#include "nir_passes/matrices/element_map.h"
#include "nir_passes/matrices/register_map.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

namespace weft::cmat {

/// Which of the maps a shader's matrices go by.
enum class Map : uint8_t {
   dense,     ///< element_map.h: tiles in private memory
   registers, ///< register_map.h
};

ElementMap element_map(const glsl_cmat_description &, uint32_t subgroup_size);
RegisterMap register_map(const glsl_cmat_description &, uint32_t subgroup_size);

/// Components per invocation.
uint32_t length(Map, const glsl_cmat_description &, uint32_t subgroup_size);

/// Whether it is worth code for each component that an invocation has, in registers; else code is
/// a loop, and the components are an array in memory.
bool is_unrolled(const glsl_cmat_description &, uint32_t subgroup_size);

/// Numbers of 32 bits.
struct Coordinates {
   nir_def *row, *col;
};

/// The element that is a component of the running invocation's.  Of the dense map some may lie
/// below the last row (ElementMap::length).
Coordinates coordinates(nir_builder *, Map, const glsl_cmat_description &, uint32_t subgroup_size,
                        nir_def *component);
/// The same for the invocation of a given number.
Coordinates coordinates(nir_builder *, Map, const glsl_cmat_description &, uint32_t subgroup_size,
                        nir_def *invocation, nir_def *component);

/// Whether components of some invocations lie outside of the matrix.
bool has_outside(Map, const glsl_cmat_description &, uint32_t subgroup_size);

/// Neighbours in a row, or in a column, that are written at once (cmat_insert_run_weft).
struct Runs {
   uint32_t length;
   bool in_columns;
};
Runs runs_of(const nir_intrinsic_instr *);

/// How many of them the running invocation writes; 0 if its components are not whole runs.  Of the
/// dense map it takes them in turn, as elements (element_map.h), whoever has the components:
///
///    8×8, W = 8, runs of 4 in rows: the first of each invocation
///        ┌ 0 0 0 0 1 1 1 1
///        │ 2 2 2 2 3 3 3 3
///        └ …
uint32_t run_count(Map, const glsl_cmat_description &, uint32_t subgroup_size, const Runs &);
/// The first element of one of them.  Of the dense map some may lie below the last row.
Coordinates run_coordinates(nir_builder *, Map, const glsl_cmat_description &,
                            uint32_t subgroup_size, const Runs &, nir_def *number);
/// Whether some do.
bool has_runs_outside(Map, const glsl_cmat_description &, uint32_t subgroup_size, const Runs &);
/// The number of its first element in the dense tile, counted row by row, or with registers of its
/// first component.
nir_def *run_begin(nir_builder *, Map, const glsl_cmat_description &, uint32_t subgroup_size,
                   const Runs &, nir_def *number);
/// From one element of a run to the next, in the same numbers.
uint32_t run_step(Map, const glsl_cmat_description &, uint32_t subgroup_size, const Runs &);

/// One that holds an element, and as which component.
struct Owner {
   nir_def *invocation, *component;
};
Owner owner(nir_builder *, const RegisterMap &, const Coordinates &);

/// The first element of the running invocation's block.
Coordinates origin(nir_builder *, const RegisterMap &);
/// Whether the running invocation is the one to store its block, of those that hold the same.
nir_def *stores(nir_builder *, const RegisterMap &);

} // namespace weft::cmat
