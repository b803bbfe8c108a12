// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A stack for compilers, whose recursion follows the shader and not what the application's thread has.

#pragma once

#include <functional>

namespace weft::cpu {

/// Calls `work` on a thread with a stack of its own of 256 MiB, of which only what is touched becomes
/// memory; returns, or throws, what it does.  LLVM's instruction selection can call itself once for each
/// instruction of a block, and applications create pipelines on threads with small stacks.  Where no such
/// thread can be had (limits on threads or address space), `work` runs on the calling one.
void call_on_large_stack(const std::function<void()> &work);

} // namespace weft::cpu
