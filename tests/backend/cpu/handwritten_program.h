// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A program whose kernel is a C++ function, to test the runtime.

#pragma once

#include "backend/cpu/compiler.h"

namespace weft::cpu {

class HandwrittenProgram final : public Program {
public:
   HandwrittenProgram(Kernel kernel, const ProgramInfo &info) : function(kernel), program_info(info)
   {
   }

   const ProgramInfo &info() const override { return program_info; }
   Kernel kernel() const override { return function; }
   std::vector<std::byte> serialize() const override { return {}; }

private:
   Kernel function;
   ProgramInfo program_info;
};

inline ProgramInfo program_info(uint32_t subgroups, bool barriers, uint32_t shared_bytes = 0,
                                uint32_t stack_bytes = 0)
{
   ProgramInfo info = {};
   info.workgroup_size = {8 * subgroups, 1, 1};
   info.subgroup_size = 8;
   info.subgroups = subgroups;
   info.shared_bytes = shared_bytes;
   info.stack_bytes = stack_bytes;
   info.uses_barrier = barriers;
   return info;
}

/// Hands a C++ object to a kernel.
template <typename T>
DispatchState state_of(T &object)
{
   DispatchState state = {};
   state.push_constants = reinterpret_cast<const uint8_t *>(&object);
   return state;
}

template <typename T>
T &object_of(const DispatchState *state)
{
   return *const_cast<T *>(reinterpret_cast<const T *>(state->push_constants));
}

} // namespace weft::cpu
