// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What driver and layer advertise of the matrices that their compilers can do.  Vendors'
/// configurations (WEFT_PROFILE) let a program's path for a GPU be run without owning one:
/// docs/profiles.md has the sources.

#pragma once

#include "nir_passes/matrix_support.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Profile {
   std::string_view name;
   uint32_t subgroup_size; ///< what the vendor's driver reports as subgroupSize
   std::span<const MatrixOperation> operations;
};

/// Null for a name that is not in the table.
const Profile *find_profile(std::string_view name);
/// All names, with commas between.
std::string profile_names();

/// Those of the operations that the profile has (null: all), in the order in which programs should
/// find them: first those whose tiles have no more rows than the subgroup has invocations.  Programs
/// take the first that suits them, and some rely on that: llama.cpp's kernels divide the invocations
/// by the rows.
std::vector<MatrixOperation> advertised_operations(std::vector<MatrixOperation>, const Profile *,
                                                   uint32_t subgroup_size);

} // namespace weft
