// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs for tests of the executor.

#pragma once

#include "backend/cpu/runtime/executor.h"
#include "tests/backend/cpu/handwritten_program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weft::cpu {

/// Counts the visits of every subgroup of every workgroup.
struct Visits {
   std::array<uint32_t, 3> groups, base;
   uint32_t subgroups;
   std::vector<std::atomic<uint32_t>> counts;
   std::atomic<uint32_t> strays = 0;

   Visits(std::array<uint32_t, 3> groups, std::array<uint32_t, 3> base, uint32_t subgroups)
       : groups(groups), base(base), subgroups(subgroups),
         counts(size_t(groups[0]) * groups[1] * groups[2] * subgroups)
   {
   }

   static bool kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &visits = object_of<Visits>(state);
      std::array<uint32_t, 3> at;
      for (int axis = 0; axis < 3; axis++) {
         at[axis] = group->workgroup_id[axis] - visits.base[axis];
         if (at[axis] >= visits.groups[axis]) {
            visits.strays++;
            return true;
         }
      }
      const size_t workgroup =
         (size_t(at[2]) * visits.groups[1] + at[1]) * visits.groups[0] + at[0];
      visits.counts[workgroup * visits.subgroups + subgroup]++;
      if (visits.with_barrier)
         group->barrier(group);
      return true;
   }

   bool with_barrier = false;
};

/// Uses all of the stack that it requests, across barriers.
struct StackUser {
   static constexpr uint32_t bytes = 300000;
   std::atomic<uint32_t> errors = 0;

   static bool kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      volatile uint8_t memory[bytes];
      std::memset(const_cast<uint8_t *>(memory), subgroup + 1, bytes);
      group->barrier(group);
      for (uint32_t i = 0; i < bytes; i++) {
         if (memory[i] != subgroup + 1) {
            object_of<StackUser>(state).errors++;
            return true;
         }
      }
      return true;
   }
};

} // namespace weft::cpu
