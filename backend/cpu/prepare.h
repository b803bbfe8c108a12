// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

namespace weft {
class DiskCache;
}

namespace weft::cpu {

/// Creates the tables of LLVM's code generator, if none exist, and waits for them. exit() destroys
/// LLVM's tables first, also while they are being created, so each function that starts a
/// compilation first waits for them: the application's call must not return before. Never fails,
/// but may do nothing.
void prepare_to_compile() noexcept;

/// Does the same for a process that will probably compile a shader: the cache is empty, or null. An
/// application with several threads is less likely to call exit() while it creates its device than
/// while it creates pipelines. If the cache has all programs, no tables are made.
void prepare_for_device(const DiskCache *) noexcept;

} // namespace weft::cpu
