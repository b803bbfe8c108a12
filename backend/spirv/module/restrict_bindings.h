// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>

namespace weft::spirv {

/// Of (set, binding).
using BindingSet = std::set<std::pair<uint32_t, uint32_t>>;

/// The bindings all of whose variables a module decorates with Restrict: themselves, or each member
/// of their blocks.  To the front end everything is that is not Aliased, as SPIR-V 2.18.2 has it;
/// drivers are more careful, so it must stay known who said so.
BindingSet restrict_bindings(std::span<const uint32_t> spirv);

} // namespace weft::spirv
