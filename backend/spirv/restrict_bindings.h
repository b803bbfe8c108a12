// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>

namespace weft::spirv {

/// The (set, binding) of the variables that a module decorates with Restrict.  To the front end
/// everything is that is not Aliased, as SPIR-V 2.18.2 has it; drivers are more careful, so it must
/// stay known who said so.
std::set<std::pair<uint32_t, uint32_t>> restrict_bindings(std::span<const uint32_t> spirv);

} // namespace weft::spirv
