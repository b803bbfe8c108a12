// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The kernels whose C++ needs more than a loop that a compiler vectorizes: vectors by hand, and a
/// sort in stages.

#include "bench/compute/peers.h"

#include <algorithm>
#include <cstring>

namespace weft::bench {

namespace {

constexpr uint32_t lanes = 16;
using WordVector = uint32_t __attribute__((vector_size(4 * lanes)));
using IntegerVector = int32_t __attribute__((vector_size(4 * lanes)));
using FloatVector = float __attribute__((vector_size(4 * lanes)));

WordVector rotate(WordVector x, int bits)
{
   return x >> bits | x << (32 - bits);
}

constexpr uint32_t round_constants[64] = {
   0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
   0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
   0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
   0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
   0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
   0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
   0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
   0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

WordVector sha256_of(WordVector first, WordVector index)
{
   WordVector w[64];
   for (uint32_t j = 0; j < 16; j++)
      w[j] = first * (j * 2 + 1) + index;
   for (int j = 16; j < 64; j++) {
      const WordVector s0 = rotate(w[j - 15], 7) ^ rotate(w[j - 15], 18) ^ w[j - 15] >> 3,
                       s1 = rotate(w[j - 2], 17) ^ rotate(w[j - 2], 19) ^ w[j - 2] >> 10;
      w[j] = w[j - 16] + s0 + w[j - 7] + s1;
   }
   constexpr uint32_t initial[] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
   WordVector s[8];
   for (int i = 0; i < 8; i++)
      s[i] = (first ^ first) + initial[i];
   for (int j = 0; j < 64; j++) {
      const WordVector sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25),
                       choice = (s[4] & s[5]) ^ (~s[4] & s[6]),
                       t1 = s[7] + sum1 + choice + round_constants[j] + w[j],
                       sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22),
                       majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      std::copy_backward(s, s + 7, s + 8);
      s[4] += t1;
      s[0] = t1 + sum0 + majority;
   }
   return s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7];
}

} // namespace

void sha256(Memory &m, uint32_t n)
{
   const uint32_t *a = m.words(0);
   uint32_t *o = m.words(1);
#pragma omp parallel for
   for (uint32_t i = 0; i < n; i += lanes) {
      WordVector first, index;
      memcpy(&first, a + i, sizeof(first));
      for (uint32_t l = 0; l < lanes; l++)
         index[l] = i + l;
      const WordVector result = sha256_of(first, index);
      memcpy(o + i, &result, sizeof(result));
   }
}

void mandelbrot(Memory &m, uint32_t n)
{
   constexpr int most = 256;
   uint32_t *o = m.words(1);
   const float step = 2.5f / float(n);
#pragma omp parallel for schedule(dynamic, 8)
   for (uint32_t row = 0; row < n; row++) {
      for (uint32_t column = 0; column < n; column += lanes) {
         FloatVector cx, x = {}, y = {};
         for (uint32_t l = 0; l < lanes; l++)
            cx[l] = -2.f + step * float(column + l);
         const float cy = -1.25f + step * float(row);
         IntegerVector steps = {}, on = steps - 1;
         for (int k = 0; k < most; k++) {
            const FloatVector xx = x * x, yy = y * y;
            on &= xx + yy <= 4.f;
            uint64_t any[sizeof(on) / 8];
            memcpy(any, &on, sizeof(on));
            if (std::ranges::none_of(any, [](uint64_t bits) { return bits != 0; }))
               break;
            y = 2.f * x * y + cy;
            x = xx - yy + cx;
            steps -= on;
         }
         memcpy(o + row * n + column, &steps, sizeof(steps));
      }
   }
}

namespace {

/// Orders the pairs (i, i + distance), `count` of them from i on.
void order(uint32_t *o, uint32_t i, uint32_t distance, uint32_t count, bool ascends)
{
   uint32_t *low = o + i, *high = low + distance;
   if (!ascends)
      std::swap(low, high);
#pragma omp simd
   for (uint32_t k = 0; k < count; k++) {
      const uint32_t x = low[k], y = high[k];
      low[k] = std::min(x, y);
      high[k] = std::max(x, y);
   }
}

/// A step within [begin, begin + length).
void order_within(uint32_t *o, uint32_t begin, uint32_t length, uint32_t run, uint32_t distance)
{
   for (uint32_t i = begin; i < begin + length; i += 2 * distance)
      order(o, i, distance, distance, (i & run) == 0);
}

} // namespace

void bitonic_sort(Memory &m, uint32_t n)
{
   constexpr uint32_t block = 512; // stays in the first-level cache
   uint32_t *o = m.words(1);
   std::copy_n(m.words(0), n, o);
#pragma omp parallel
   {
#pragma omp for
      for (uint32_t begin = 0; begin < n; begin += block) {
         for (uint32_t run = 2; run <= block; run *= 2) {
            for (uint32_t distance = run / 2; distance; distance /= 2)
               order_within(o, begin, block, run, distance);
         }
      }
      for (uint32_t run = 2 * block; run <= n; run *= 2) {
         for (uint32_t distance = run / 2; distance >= block; distance /= 2) {
#pragma omp for
            for (uint32_t half = 0; half < n / 2; half += block) {
               const uint32_t i = half / distance * 2 * distance + half % distance;
               order(o, i, distance, block, (i & run) == 0);
            }
         }
#pragma omp for
         for (uint32_t begin = 0; begin < n; begin += block) {
            for (uint32_t distance = block / 2; distance; distance /= 2)
               order_within(o, begin, block, run, distance);
         }
      }
   }
}

} // namespace weft::bench
