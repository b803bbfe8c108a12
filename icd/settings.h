// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's environment variables, parsed once. backend/cpu/options.h has the compiler's.
/// docs/settings.md lists all for users.

#pragma once

#include "nir_passes/matrix_support.h"
#include "vulkan_util/profile.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Settings {
   uint32_t subgroup_size = 0; ///< WEFT_SUBGROUP_SIZE: the default subgroup size, 8, 16, 32 or 64
   /// WEFT_ICD_PROFILE, else WEFT_PROFILE: the vendor whose matrices are advertised; null: all
   /// matrices.
   const Profile *profile = nullptr;
   const Identity *identity = nullptr; ///< presented in place of the driver's own; null: none
   bool integrated_gpu =
      false; ///< WEFT_DEVICE_TYPE: the device is presented as one, for programs that ignore CPUs

   /// WEFT_QUEUE: another queue family claims graphics, for programs that only compute, but look
   /// for a graphics queue.
   bool graphics_queue = false;

   /// WEFT_ICD_HIDE: features of 8 and 16 bits that are not reported.
   bool hides_float16 = false, hides_int16 = false, hides_int8 = false;
   bool hides_storage16 = false, hides_storage8 = false;
   /// WEFT_ICD_HIDE: pipelines cannot require a subgroup size, and have various sizes.
   bool hides_subgroup_sizes = false;

   std::string spirv_folder; ///< WEFT_DUMP_SPIRV: the folder for shaders

   /// WEFT_POLL_PAUSE: the longest pause of a status query in a loop, in microseconds; 0: none.
   uint32_t poll_pause_us = 1000;

   /// The size from WEFT_SUBGROUP_SIZE, else the profile's size, else the compiler's default.
   uint32_t default_subgroup_size() const;
   /// Whether that size may differ from the compiler's default.
   bool sets_subgroup_size() const { return subgroup_size || profile; }
};

/// The settings by the environment at the first call. An unknown value is reported on stderr, once.
const Settings &settings();

/// The settings by a lookup function like getenv. Messages about unknown values are appended to
/// `problems`.
Settings parse_settings(const char *(*lookup)(const char *name),
                        std::vector<std::string> &problems);

/// The compiler's matrices; with a profile, only the matrices that the vendor's driver has too.
const MatrixSupport &advertised_matrices();
/// Whether A may have components of the type.
bool advertises_matrices_of(ComponentType);
/// Whether an extension of cooperative matrices is listed: matrices are advertised, and the vendor
/// that the driver is presented as has the extension.
bool advertises_matrix_extension(std::string_view name);

} // namespace weft
