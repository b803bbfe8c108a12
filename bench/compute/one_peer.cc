// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs one kernel in C++, so that ci/bench callgrind can count its instructions.
///
/// Usage: one_peer SHADER WORKGROUPS. The kernel does the work of so many workgroups of the shader.
/// It is meaningful for kernels whose work grows with their number.

#include "bench/compute/peers.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

using namespace weft::bench;

int main(int argc, char **argv)
{
   if (argc != 3) {
      fprintf(stderr, "usage: one_peer SHADER WORKGROUPS\n");
      return 2;
   }
   const auto groups = uint32_t(atoi(argv[2]));
   constexpr uint32_t words = 1 << 18;
   Memory memory;
   for (uint32_t binding = 0; binding < 4; binding++) {
      memory.buffers.emplace_back(words);
      for (uint32_t i = 0; i < words; i++)
         memory.buffers.back()[i] = (i * 48271) % words; // a permutation
   }
   const std::map<std::string, std::function<void()>> peers = {
      {"copy", [&] { copy(memory, 256 * groups); }},
      {"saxpy", [&] { saxpy(memory, 256 * groups, 1); }},
      {"reduce_shared", [&] { reduce(memory, 1024 * groups); }},
      {"reduce_subgroup", [&] { reduce(memory, 1024 * groups); }},
      {"histogram", [&] { histogram(memory, 4096 * groups); }},
      {"gather", [&] { gather(memory, 256 * groups); }},
      {"scatter", [&] { scatter(memory, 256 * groups); }},
      {"sha256", [&] { sha256(memory, 256 * groups); }},
      {"dot_bytes", [&] { dot_bytes(memory, groups, 4096); }},
      {"barrier", [&] { exchange(memory, groups, 64, false); }},
      {"barrier_xor", [&] { exchange(memory, groups, 64, true); }},
   };
   const auto peer = peers.find(argv[1]);
   if (peer == peers.end()) {
      fprintf(stderr, "%s has no kernel\n", argv[1]);
      return 1;
   }
   peer->second();
   return 0;
}
