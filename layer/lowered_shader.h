// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "vulkan_util/text.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace weft::layer {

/// The form in which the driver gets a shader.
enum class Form {
   original,         ///< unchanged: its matrices, if any, are the driver's
   without_matrices, ///< the part of the module that a shader without matrices needs
   lowered,          ///< by the compiler
};

struct LoweredShader {
   Form form = Form::original;
   std::vector<uint32_t> words; ///< empty in the original form
   std::vector<Representation> representations;
   std::chrono::nanoseconds duration = {}; ///< of lowering

   /// Requirements of a lowered shader.
   bool require_size = false;
   bool require_full_subgroups = false;
   uint32_t private_bytes = 0; ///< of an invocation's private variables
};

} // namespace weft::layer
