// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The environment variables that make Vulkan loaders, old and new, find the chosen devices.

#pragma once

#include "tools/weft_run/arguments.h"
#include "tools/weft_run/installation.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft::weft_run {

struct Variable {
   std::string name;
   std::optional<std::string> value; ///< nothing: unset the variable

   bool operator==(const Variable &) const = default;
};

/// Returns a variable's current value; empty if it is not set.
using Lookup = std::function<std::string(const char *name)>;

/// The variables to change. `loader` is the loader's version (VK_MAKE_API_VERSION); 0, unknown, is
/// treated as a new loader.
std::vector<Variable> plan_environment(const Choice &, const Installation &, uint32_t loader,
                                       const Lookup &);

/// The changes as commands of a POSIX shell.
std::string as_shell(const std::vector<Variable> &);

/// A variable of this process.
std::string variable(const char *name);
void apply(const std::vector<Variable> &);

} // namespace weft::weft_run
