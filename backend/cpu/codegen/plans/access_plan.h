// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The plan for one memory access: which instructions it becomes, and under which conditions.
///
/// A plan is a decision and contains no LLVM values. Analyses of the final NIR supply all its facts
/// (access_plans.h); emit_memory.cc and strided_access.h write the code.
///
/// If the lanes' addresses differ and lane analysis knows their pattern, the access becomes vector
/// code for each group of lanes. That code may touch memory of inactive lanes, so it has
/// conditions: one branch checks that the whole extent is in bounds. If a condition fails, the
/// access goes lane by lane.

#pragma once

#include "backend/cpu/codegen/facts/lane_offsets.h"
#include "backend/cpu/codegen/plans/memory_access.h"
#include "backend/cpu/host/host_target.h"

#include <optional>
#include <vector>

namespace weft::cpu {

enum class AccessForm {
   uniform,     ///< one address for all lanes: scalars
   own_buffers, ///< a buffer for each lane: lane after lane, in scalars
   private_row, ///< private memory at one offset: a vector of all lanes for each component
   masked,      ///< a masked vector for each group of lanes
   same,        ///< one element for each group of lanes, which its lanes share
   runs,        ///< a vector for each group of lanes, whose elements touch
   steps,       ///< an element for each lane, at constant steps within a group
   chunks,      ///< whole vectors of memory, from which shuffles extract the elements
   windows,     ///< permuted vectors, if each group of lanes has its words close together
   lanewise,    ///< a function visits lane after lane
};

/// How the addresses of an access change from lane to lane.
struct LaneAddresses {
   LanePattern pattern = {};
   const LaneOffsets *fixed = nullptr; ///< each lane's distance from lane 0; null: not constant
};

/// The conditions of vector code.
struct AccessConditions {
   std::vector<LaneAssumption> assumptions = {};
   /// Bytes that must be in bounds: from `shift` bytes before lane 0's address on, or from each
   /// lane's address on. Zero: nothing is checked.
   uint64_t from_first = 0, from_each = 0;
   bool all_lanes = false; ///< no lane is inactive
};

/// The memory that a load prefetches.
struct Prefetch {
   enum class For { nothing, later_iteration, next_workgroup };

   For purpose = For::nothing;
   int64_t distance = 0; ///< bytes; for the next workgroup, code computes it
   bool is_near = false; ///< to the first-level cache, else to the second
};

struct AccessPlan {
   AccessForm form = AccessForm::uniform;
   Access access = {};
   unsigned first_component = 0; ///< of a store's data
   uint32_t W = 0;               ///< lanes of the subgroup

   // The other members are for addresses that differ from lane to lane.
   LaneAddresses lanes = {};
   bool has_bound = false;         ///< the memory's size is known to code
   bool excludes_outlying = false; ///< masked: the mask has only lanes that are in bounds
   AccessConditions conditions = {};
   std::vector<bool> chunks = {};      ///< the vectors of chunk_bytes, from lane 0's address on
   std::optional<size_t> cluster = {}; ///< LoadCluster of the block's guard, which owns the chunks
   uint32_t shift = 0;                 ///< bytes from the cluster's first address to lane 0's
   bool is_guarded = false;            ///< the block's guard checks the conditions
   bool is_packed = false;             ///< the components are also needed as a packed vector
   bool is_often_lanewise = false; ///< lanewise code is a function of the module; else, as a rare
                                   ///< case, a call of lane_memory.h
   Prefetch prefetch = {};

   const LanePattern &pattern() const { return lanes.pattern; }
   unsigned groups() const { return W / pattern().group; }
   /// Bytes from a group's first address to its end; with fixed distances, from lane 0's to the end
   /// of all lanes' elements.
   uint64_t extent() const;
   /// The number of load or store instructions, unless chunks are loaded.
   size_t instructions() const;
   /// Components that one load reads for each group. If all lanes of a group share an element, this
   /// is a power of two, so that elements are whole parts of vectors; the conditions cover the
   /// bytes behind.
   unsigned loaded_components() const;
   /// Whether the pattern allows vector code.
   bool is_regular() const;
};

/// The size of the widest vector register.
constexpr unsigned chunk_bytes = 64;

/// Lanes that share a window, and the bytes of their elements.
constexpr unsigned window_lanes = 8, window_word_bytes = 4;

/// The facts that plans of lanes with different addresses depend on.
struct PlanContext {
   uint32_t W;
   const HostTarget &target;
   const LaneOffsetAnalysis *offsets; ///< owns the assumptions
};

/// An access to be planned.
struct AccessFacts {
   Access access;
   LaneAddresses lanes;
   bool has_bound;          ///< the memory's size is known to code
   bool has_constant_bound; ///< it is even a constant
   bool is_checked;         ///< active lanes may be out of bounds
   bool has_mask;           ///< some lanes may be inactive
};

/// Facts about one access of NIR in its block.
AccessFacts facts_of(const PlanContext &, const Access &, const LaneAnalysis &,
                     bool robust_buffer_access, bool has_mask);

LaneAddresses lane_addresses(const PlanContext &, const LanePattern &, const LaneOffsets &,
                             unsigned element);

AccessPlan plan_load(const PlanContext &, const AccessFacts &);
AccessPlan plan_store(const PlanContext &, const AccessFacts &);
/// The plan for rows: the elements of each group of lanes touch and fill a register, and nothing
/// checks bounds. It is masked if the CPU has masked instructions for the elements.
AccessPlan plan_rows(const PlanContext &, const Access &);

/// Whether shuffles can extract the elements of a regular load from chunks.
bool may_load_chunks(const PlanContext &, const AccessPlan &);

/// Adds to `used` the chunks that contain elements at these distances.
void add_chunks(std::vector<bool> &used, const std::vector<int64_t> &from_first, uint64_t shift,
                unsigned element);

} // namespace weft::cpu
