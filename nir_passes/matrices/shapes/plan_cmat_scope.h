// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Decides how the subgroups of a workgroup share matrices of workgroup scope. lower_cmat_scope()
/// carries the plan out.
///
/// The rows of A and of accumulators are cut into bands, one for each subgroup. If a matrix has
/// fewer bands than the workgroup has subgroups, several subgroups have the same band. For four
/// subgroups:
///
///           A         B          accumulator
///        ┌──────┐  ┌──────┐      ┌──────┐
///        │  0   │  │ all  │      │  0   │     Products, loads, stores, operations on components,
///        ├──────┤  │      │      ├──────┤     and reductions of rows need no data of other
///        │  1   │  │      │      │  1   │     subgroups.
///        ├──────┤  └──────┘      ├──────┤
///        │  2   │                │  2   │
///        ├──────┤                ├──────┤
///        │  3   │                │  3   │
///        └──────┘                └──────┘
///
/// Other operations need elements of other bands. They exchange these through shared memory.
/// Without enough of it, each subgroup has every matrix as a whole.

#pragma once

#include "nir_passes/matrices/cmat_uses.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weft {

struct ScopeOptions {
   uint32_t subgroup_size;
   /// The most shared memory that the exchange of elements may add.
   uint32_t staging_bytes = 0;
   /// B may be cut, too.
   bool cuts_b = false;
   /// Products can read B in shared memory (cmat_marks.h).
   bool has_workgroup_matrices = false;
   /// Nothing is cut.
   bool keeps_whole = false;
};

enum class FormOfB : uint8_t {
   whole,            ///< each subgroup has all of B
   staged,           ///< bands of columns; each product joins them through shared memory
   workgroup_matrix, ///< bands of columns, stored in one matrix of the workgroup for each product
};

struct Bands {
   uint32_t count, lines; ///< lines of one band: rows, or columns of B
   bool operator==(const Bands &) const = default;
};

struct ScopePlan {
   uint32_t subgroups;  ///< of the workgroup
   bool is_cut = false; ///< otherwise each subgroup has every matrix as a whole
   FormOfB b = FormOfB::whole;
   /// The shared memory that exchanges need: elements of 8, 16, 32 and 64 bits.
   std::array<uint32_t, 4> staged_elements = {};

   bool operator==(const ScopePlan &) const = default;

   /// The bands of a matrix of workgroup scope.
   Bands bands(const glsl_cmat_description &) const;
   /// The part of a matrix that one subgroup has.
   glsl_cmat_description part(glsl_cmat_description) const;
   /// Whether a reduction (SpvCooperativeMatrixReduceMask) combines elements of several bands of
   /// its source.
   bool combines_bands(unsigned reduction, const glsl_cmat_description &result,
                       const glsl_cmat_description &source) const;
};

/// "4 subgroups, B staged, staging 512 x 16 bits; 64x16 f16 (A): 4 bands of 16 rows", for the
/// matrices of workgroup scope among `matrices`.
std::string describe(const ScopePlan &, std::span<const glsl_cmat_description> matrices);

inline bool is_of_workgroup(const glsl_cmat_description &desc)
{
   return desc.scope == SCOPE_WORKGROUP;
}

inline bool is_b(const glsl_cmat_description &desc)
{
   return desc.use == GLSL_CMAT_USE_B;
}

/// The plan for a shader with these uses; nothing if it has no matrices of workgroup scope. Returns
/// an Error if subgroups do not fill the workgroup. Changes nothing.
Result<std::optional<ScopePlan>> plan_cmat_scope(nir_shader *, const CmatUses &,
                                                 const ScopeOptions &);

} // namespace weft
