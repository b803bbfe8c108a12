// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Dispatches, as every command that dispatches records and executes them.

#pragma once

#include "backend/cpu/abi.h"
#include "backend/cpu/compiler.h"

namespace weft {

struct CommandBuffer;
struct Queue;

/// The bound state as pointers that live as long as the recording. The numbers of workgroups are
/// zeros. Push constants are null without memory; the error is recorded.
cpu::DispatchState resolve_state(CommandBuffer *);

/// The facts about a dispatch of this state that are known when it is recorded. They refer to the
/// state's memory.
cpu::DispatchFacts known_facts(const CommandBuffer *, const cpu::DispatchState &);

/// The bound shader's program for a dispatch with these facts. Null without memory; the error is
/// recorded.
const cpu::FutureProgram *program_for(CommandBuffer *, const cpu::DispatchFacts &);

/// Takes the numbers of workgroups from a VkDispatchIndirectCommand. False if one is zero.
bool read_size(const uint8_t *from, cpu::DispatchState *);

/// Executes a dispatch of workgroups, none of whose numbers is zero. Waits until the program's code
/// is generated. False with the queue's failure if it cannot run.
bool dispatch_now(Queue *, const cpu::FutureProgram &, const cpu::DispatchState &);

} // namespace weft
