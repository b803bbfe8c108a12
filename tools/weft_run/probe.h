// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Finds devices through the Vulkan loader in this process, and their support for cooperative
/// matrices.

#pragma once

#include "layer/matrix_family.h"
#include "nir_passes/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::weft_run {

struct MatrixExtension {
   std::string name;
   WeftMatrixSupport support;
   std::string reason; ///< why it is missing
};

struct MatrixOperation {
   uint32_t m, n, k;
   std::string a, b, c, result; ///< "f16"
   bool saturating;
   std::string scope;
};

struct FoundDevice {
   std::string name, type, driver, driver_info;
   uint32_t api_version = 0, vendor_id = 0, device_id = 0;
   uint32_t subgroup_size = 0, min_subgroup_size = 0, max_subgroup_size = 0;
   std::vector<MatrixExtension> extensions;
   std::vector<MatrixOperation> operations; ///< of VK_KHR_cooperative_matrix
   bool has_matrices() const;
};

struct Findings {
   uint32_t loader = 0;               ///< version; 0: no loader
   std::string error;                 ///< why no instance could be created
   std::vector<std::string> messages; ///< errors and warnings of drivers, layers and the loader
   bool layer_answers = false;        ///< Weft's layer is active
   std::vector<FoundDevice> devices;
};

/// The loader's version; 0 without a loader.
uint32_t loader_version();

Findings find_devices();

/// The driver report (JSON) of the first device with `name` in its name, from the layer. An error
/// names the devices.
Result<std::string> read_driver_report(const std::string &name);

/// The names of the extensions of cooperative matrices.
std::vector<std::string> matrix_extension_names();

/// "1.3.239"
std::string version_text(uint32_t version);

} // namespace weft::weft_run
