// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A random order of workgroups, and of the subgroups of each, which a seed determines. It reveals
/// missing barriers: in the usual order, subgroup 0 writes before subgroup 1 reads, so a shader
/// without them often works.

#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace weft::cpu {

/// A number that depends on all bits of both arguments (the finalizer of SplitMix64).
inline uint64_t mix(uint64_t seed, uint64_t number)
{
   uint64_t x = seed * 0x9e3779b97f4a7c15 + number;
   x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
   x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
   return x ^ (x >> 31);
}

/// A permutation of 0 to total - 1: the workgroup for the `turn`-th turn. The factor is coprime to
/// `total`.
inline uint64_t shuffled_workgroup(uint32_t seed, uint64_t turn, uint64_t total)
{
   uint64_t factor = mix(seed, 0) % total;
   while (std::gcd(factor, total) != 1)
      factor++;
   return uint64_t((static_cast<unsigned __int128>(turn) * factor + mix(seed, 1) % total) % total);
}

/// A permutation of a workgroup's subgroups.
inline void shuffle_subgroups(std::span<uint32_t> subgroups, uint32_t seed, uint64_t workgroup)
{
   std::iota(subgroups.begin(), subgroups.end(), 0);
   const uint64_t own_seed = mix(seed, workgroup + 2);
   for (uint32_t left = subgroups.size(); left > 1; left--)
      std::swap(subgroups[left - 1], subgroups[mix(own_seed, left) % left]);
}

} // namespace weft::cpu
