// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The kernels: their shaders, inputs, dispatches, the same in C++, and the comparison of results.

#pragma once

#include "bench/compute/peers.h"

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

/// The push constants of common.glsl.
struct Constants {
   uint32_t n = 0, p1 = 0, p2 = 0;
   float f0 = 0, f1 = 0;
};

struct Dispatch {
   uint32_t shader; ///< its number among the case's shaders
   uint32_t groups[3];
   Constants constants;
};

struct Case {
   std::string name;
   std::vector<std::string> shaders; ///< files without their ending
   Memory memory;                    ///< inputs, and room for results, by binding
   uint32_t result = 1;              ///< the binding of the results
   std::vector<Dispatch> dispatches;
   std::function<void(Memory &)> peer;
   /// Whether the results of a device, `got`, are right.
   std::function<bool(const Words &expected, const Words &got)> is_right;
   uint32_t repeats = 1; ///< of all dispatches, in one submission
};

/// All cases. A case is made when it runs, because its memory is large.
struct NamedCase {
   std::string name;
   std::function<Case()> make;
};
std::vector<NamedCase> all_cases();

} // namespace weft::bench
