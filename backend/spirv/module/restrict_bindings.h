// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>

namespace weft::spirv {

/// Pairs (set, binding).
using BindingSet = std::set<std::pair<uint32_t, uint32_t>>;

/// The bindings whose variables are all decorated Restrict in the module: the variables themselves,
/// or each member of their blocks. The front end treats everything as restrict that is not Aliased,
/// as SPIR-V 2.18.2 says. Drivers are more careful, so only the module's own decorations count.
BindingSet restrict_bindings(std::span<const uint32_t> spirv);

} // namespace weft::spirv
