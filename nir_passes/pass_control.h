// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Observes and controls the passes of one compilation, to find the pass that breaks a shader.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

struct nir_shader;

namespace weft {

/// Called with a pass's name after the pass changed the shader.
using PassObserver = std::function<void(const char *pass, nir_shader *)>;

/// One run of a pass; optimisations run many times per compilation.
struct PassApplication {
   const char *pass;
   uint32_t occurrence; ///< 1 for the pass's first run
   bool optional;       ///< the shader is correct without it
   uint32_t number;     ///< among optional applications: from 1; 0: not optional
};

/// "nir_opt_cse#3"
std::string name(const PassApplication &);

/// Whether a shader is correct, if slower, without the pass: true of the opt_* passes, except
/// passes that also lower.
bool is_optional(std::string_view pass);

/// For one compilation; in a second one the numbers continue.
struct PassControl {
   /// Whether an optional pass may run; unset: always.
   std::function<bool(const PassApplication &)> may_run = {};
   /// Called after each pass that ran.
   std::function<void(const PassApplication &, bool changed, nir_shader *)> after = {};
   /// Called with each plan that later passes follow: the planning function's name, and the plan's
   /// description.
   std::function<void(const char *planner, const std::string &plan)> on_plan = {};

   std::map<std::string, uint32_t, std::less<>> occurrences = {};
   uint32_t optional_applications = 0;
};

} // namespace weft
