// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

namespace weft::cpu {

/// Makes the tables of LLVM's code generator, if no one has yet, and waits for them.
/// compile_cached() does so too.  But LLVM's tables are destroyed first of all at exit(), also
/// while they are being made: a program that has several threads, one of which calls exit(), is
/// less likely to do that while it creates its device than while it creates pipelines.  Never
/// fails: it may have done nothing.
void prepare_to_compile() noexcept;

} // namespace weft::cpu
