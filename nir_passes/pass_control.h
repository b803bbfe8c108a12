// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sees and steers the passes of one compilation, to find the one that breaks a shader.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

struct nir_shader;

namespace weft {

/// Called with a pass's name when it changed the shader.
using PassObserver = std::function<void(const char *pass, nir_shader *)>;

/// One run of a pass; the optimisations have many in a compilation.
struct PassApplication {
   const char *pass;
   uint32_t occurrence; ///< 1 for the pass's first
   bool optional;       ///< the shader is right without it
   uint32_t number;     ///< of an optional one: 1 for the first of all; else 0
};

/// "nir_opt_cse#3"
std::string name(const PassApplication &);

/// Whether a shader is right, if slower, without the pass: the opt_* passes, less those that lower
/// something too.
bool is_optional(std::string_view pass);

/// For one compilation; the numbers go on if a second one gets it.
struct PassControl {
   /// Whether an optional pass may run; unset: always.
   std::function<bool(const PassApplication &)> may_run = {};
   /// Called after each pass that ran.
   std::function<void(const PassApplication &, bool changed, nir_shader *)> after = {};

   std::map<std::string, uint32_t, std::less<>> occurrences = {};
   uint32_t optional_applications = 0;
};

} // namespace weft
