// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The variables by which Vulkan loaders, old and new, find what was chosen.

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
   std::optional<std::string> value; ///< none: it must not be set

   bool operator==(const Variable &) const = default;
};

/// Of a variable as it is; empty where it is not set.
using Lookup = std::function<std::string(const char *name)>;

/// The variables to change.  `loader` is the version of the loader (VK_MAKE_API_VERSION), 0 where it
/// is not known; then it is taken for a new one.
std::vector<Variable> plan_environment(const Choice &, const Installation &, uint32_t loader,
                                       const Lookup &);

/// As commands of a POSIX shell.
std::string as_shell(const std::vector<Variable> &);

/// Of this process.
std::string variable(const char *name);
void apply(const std::vector<Variable> &);

} // namespace weft::weft_run
