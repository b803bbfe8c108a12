// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/cpu_features.h"

#include "backend/cpu/options.h"
#include "threads/until_unload.h"

namespace weft::cpu {

const CpuFeatures &host_features()
{
   static const auto &features = until_unload(new CpuFeatures(detect_features(options().isa)));
   return features;
}

} // namespace weft::cpu
