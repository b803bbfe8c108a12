// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Hooks of Device and Pipeline, for programs of tests.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::vulkan {

class Device;
struct PipelineOptions;

/// A compiler under test, between the tests and the driver. It provides matrices on a device
/// without them.
class Preprocessor {
public:
   virtual ~Preprocessor() = default;
   /// Replaces the driver's lists and limits of matrices by the compiler's.
   virtual void set_matrix_properties(Device &) = 0;
   /// The module for the driver; specialization constants are folded.
   virtual std::vector<uint32_t> lower(const Device &, std::span<const uint32_t> spirv,
                                       const PipelineOptions &) = 0;
};

/// Null in tests of a driver.
extern Preprocessor *preprocessor;

/// Rewrites the module of each Pipeline; empty to keep modules.
extern std::function<std::vector<uint32_t>(std::span<const uint32_t>)> change_module;

/// Receives the errors of Khronos' validation layers, if they are enabled.
extern std::function<void(const std::string &)> on_validation_error;

} // namespace weft::vulkan
