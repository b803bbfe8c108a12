// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

namespace weft::cpu {

/// Creates the tables of LLVM's code generator, if none exist, and waits for them. compile_cached()
/// also creates them. But exit() destroys LLVM's tables first, also while they are being created.
/// An application with several threads is less likely to call exit() while it creates its device
/// than while it creates pipelines. Never fails, but may do nothing.
void prepare_to_compile() noexcept;

} // namespace weft::cpu
