// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vendors' configurations (WEFT_PROFILE): what their drivers advertise, so that a program's path
/// for a GPU can be run without owning one.  docs/profiles.md has the sources.

#pragma once

#include "nir_passes/target.h"

#include <span>
#include <string>
#include <string_view>

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

} // namespace weft
