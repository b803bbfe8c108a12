// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The external functions that generated code may call: tile kernels, vector functions of glibc's
/// libmvec, a few of libm, memcpy and similar ones, lanewise accesses and texels. Nothing else is
/// linked in.

#pragma once

#include "backend/cpu/cpu_features.h"

#include <string_view>

namespace weft::cpu {

/// Null for any other name. A tile kernel's name selects the kernel for the CPU's instruction set.
void *find_runtime_symbol(std::string_view name, const CpuFeatures &);

} // namespace weft::cpu
