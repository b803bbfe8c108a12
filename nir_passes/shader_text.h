// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/pass_control.h"

#include <functional>
#include <string>

namespace weft {

/// nir_print_shader() into a string.
std::string shader_text(nir_shader *);

/// Called with the shader's text after a pass.
using TextObserver = std::function<void(const char *pass, const std::string &text)>;

/// Wraps a TextObserver; an unset one gives an unset observer.
PassObserver show_text(const TextObserver &);

} // namespace weft
