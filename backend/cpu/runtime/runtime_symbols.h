// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The functions outside itself that generated code may call: tile kernels, vector functions of
/// glibc's libmvec, a few of libm, memcpy and its kin.  Nothing else is ever linked in.

#pragma once

#include "backend/cpu/cpu_features.h"

#include <string_view>

namespace weft::cpu {

/// Null when the name is none of them.  Of a tile kernel there is one for each instruction set.
void *find_runtime_symbol(std::string_view name, const CpuFeatures &);

} // namespace weft::cpu
