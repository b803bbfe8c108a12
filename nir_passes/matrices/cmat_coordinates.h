// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The coordinates of matrix elements as NIR, computed by element_map.h and register_map.h. Passes
/// use only this file for them.

#pragma once

#include "nir_passes/matrices/element_map.h"
#include "nir_passes/matrices/register_map.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

namespace weft::cmat {

/// The map that a shader's matrices use.
enum class Map : uint8_t {
   dense,     ///< element_map.h: tiles in private memory
   registers, ///< register_map.h
};

ElementMap element_map(const glsl_cmat_description &, uint32_t subgroup_size);
RegisterMap register_map(const glsl_cmat_description &, uint32_t subgroup_size);

/// Components per invocation.
uint32_t length(Map, const glsl_cmat_description &, uint32_t subgroup_size);

/// Whether code for each of an invocation's components is worthwhile, in registers. Otherwise code
/// is a loop, and the components are an array in memory.
bool is_unrolled(const glsl_cmat_description &, uint32_t subgroup_size);

/// Numbers of 32 bits.
struct Coordinates {
   nir_def *row, *col;
};

/// The element that a component of the running invocation holds. In the dense map, elements may lie
/// below the last row (ElementMap::length).
Coordinates coordinates(nir_builder *, Map, const glsl_cmat_description &, uint32_t subgroup_size,
                        nir_def *component);
/// The same for the invocation with a given number.
Coordinates coordinates(nir_builder *, Map, const glsl_cmat_description &, uint32_t subgroup_size,
                        nir_def *invocation, nir_def *component);

/// Whether components of some invocations lie outside of the matrix.
bool has_outside(Map, const glsl_cmat_description &, uint32_t subgroup_size);

/// Runs: neighbours in a row, or in a column, that cmat_insert_run_weft writes at once.
struct Runs {
   uint32_t length;
   bool in_columns;
};
Runs runs_of(const nir_intrinsic_instr *);

/// The number of runs that the running invocation writes; 0 if its components do not form whole
/// runs. In the dense map invocations take runs round-robin, as they take elements (element_map.h).
/// They may write components of other invocations:
///
///    8×8, W = 8, runs of 4 in rows: the first of each invocation
///        ┌ 0 0 0 0 1 1 1 1
///        │ 2 2 2 2 3 3 3 3
///        └ …
uint32_t run_count(Map, const glsl_cmat_description &, uint32_t subgroup_size, const Runs &);
/// The first element of a run. In the dense map, runs may lie below the last row.
Coordinates run_coordinates(nir_builder *, Map, const glsl_cmat_description &,
                            uint32_t subgroup_size, const Runs &, nir_def *number);
/// Whether some runs lie below the last row.
bool has_runs_outside(Map, const glsl_cmat_description &, uint32_t subgroup_size, const Runs &);
/// In the dense map, the row-major number of the run's first element; with registers, the number of
/// its first component.
nir_def *run_begin(nir_builder *, Map, const glsl_cmat_description &, uint32_t subgroup_size,
                   const Runs &, nir_def *number);
/// The distance between neighbours of a run, in the same numbers.
uint32_t run_step(Map, const glsl_cmat_description &, uint32_t subgroup_size, const Runs &);

/// An invocation that holds an element, and the element's component number there.
struct Owner {
   nir_def *invocation, *component;
};
Owner owner(nir_builder *, const RegisterMap &, const Coordinates &);

/// The first element of the running invocation's block.
Coordinates origin(nir_builder *, const RegisterMap &);
/// Whether the running invocation stores its block. If several invocations hold the same block,
/// only one stores it.
nir_def *stores(nir_builder *, const RegisterMap &);

} // namespace weft::cmat
