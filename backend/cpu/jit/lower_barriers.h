// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Cuts a kernel at its barriers into steps, which the runtime runs for one subgroup after the
/// other. A step ends by a return; the next one begins at a switch in the kernel's entry. Values
/// that live across a barrier lie in the subgroup's frame:
///
///     kernel(…) {               kernel(…, frame, step) {
///        x = …                     switch (step) { default: goto start; case 2: goto next; }
///        barrier()              start: x = …; frame->x = x; return 2
///        use(x)                 next:  use(frame->x); return 1
///     }                         }
///
/// This is the switched form of coroutines (LLVM's CoroSplit). But a value is loaded once, after
/// the barrier, and not at its uses, which may be in inner loops. A value of an inner loop without
/// barriers is stored at the barrier, any other value at its definition.
///
/// Kernels with large frames keep their barriers as calls of WorkgroupState::barrier, and run in
/// fibers. Their frames are mostly private memory, whose accesses LLVM knows to be apart from all
/// others if it is on the stack.

#pragma once

#include "backend/cpu/host/host_target.h"

#include <string_view>

namespace llvm {
class Module;
} // namespace llvm

namespace weft::cpu {

/// A constant of 32 bits in modules whose kernel is a SteppedKernel: the bytes of a frame.
constexpr std::string_view frame_symbol = "weft_frame_bytes";

/// The largest frame of a kernel with steps.
constexpr unsigned max_frame_bytes = 16 << 10;

void lower_barriers(llvm::Module &, const HostTarget &);

} // namespace weft::cpu
