// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The interface between generated code and its caller. Plain C layout: the code generator reads
/// these structs by offset.

#pragma once

#include <cstdint>

namespace weft::cpu {

/// A buffer as a descriptor stores it: 16 bytes in a descriptor set's memory.
struct BufferDescriptor {
   uint64_t address;
   uint64_t size; ///< accessible bytes from address on; 0 for a null descriptor
};

constexpr uint32_t max_sets = 32;
/// The slot of DispatchState::sets that holds dynamic buffers, with their offsets already applied.
constexpr uint32_t dynamic_slot = max_sets;

/// State that all workgroups of a dispatch share.
struct DispatchState {
   const uint8_t *sets[max_sets + 1];
   const uint8_t *push_constants;
   uint32_t num_workgroups[3];
   uint32_t base_workgroup[3];
};

/// The state of the workgroup that a thread is running.
struct WorkgroupState {
   uint32_t workgroup_id[3]; ///< includes base_workgroup
   uint32_t reserved;
   uint8_t *shared; ///< ProgramInfo::shared_bytes, 64-byte aligned
   /// Returns once every subgroup of the workgroup has called it.
   void (*barrier)(WorkgroupState *);
};

/// Runs one subgroup of one workgroup. False if a guard failed before the subgroup had any effect
/// (guard_plan.h): it has to run again from the beginning, by Program::plain(). If the subgroups of
/// a workgroup share barriers, none of them has had an effect, and all have to run again.
using Kernel = bool (*)(const DispatchState *, WorkgroupState *, uint32_t subgroup_id);

/// The function that the translator calls as a barrier, with the WorkgroupState. No such function
/// exists: lower_barriers() replaces the calls.
constexpr char barrier_symbol[] = "weft_barrier";

/// The kernel of a program whose barriers are returns (ProgramInfo::frame_bytes). It begins at
/// `step`: 0, or the number that it returned last for this subgroup. It returns left_step if it
/// leaves the subgroup, last_step at the end, or else the step behind the barrier that it reached.
/// `frame` belongs to the subgroup and keeps its contents.
using SteppedKernel = uint32_t (*)(const DispatchState *, WorkgroupState *, uint32_t subgroup_id,
                                   uint8_t *frame, uint32_t step);
/// The alignment of the first subgroup's frame; the others follow it.
constexpr uint32_t max_frame_alignment = 256;
constexpr uint32_t left_step = 0, last_step = 1, first_step = 2;

} // namespace weft::cpu
