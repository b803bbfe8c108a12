// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "bench/compute/peers.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::bench {

namespace {

/// Another pass over the same memory is not folded into the one before.
void forget_memory()
{
   asm volatile("" ::: "memory");
}

} // namespace

void copy(Memory &m, uint32_t n)
{
   const uint32_t *from = m.words(0);
   uint32_t *to = m.words(1);
#pragma omp parallel for simd
   for (uint32_t i = 0; i < n; i++)
      to[i] = from[i];
}

void saxpy(Memory &m, uint32_t n, uint32_t repeats)
{
   const float *x = m.floats(0), *y = m.floats(1);
   float *z = m.floats(2);
   for (uint32_t r = 0; r < repeats; r++) {
#pragma omp parallel for simd
      for (uint32_t i = 0; i < n; i++)
         z[i] = 1.5f * x[i] + y[i];
      forget_memory();
   }
}

void daxpy(Memory &m, uint32_t n)
{
   const double *x = m.doubles(0), *y = m.doubles(1);
   double *z = m.doubles(2);
#pragma omp parallel for simd
   for (uint32_t i = 0; i < n; i++)
      z[i] = 1.5 * x[i] + y[i];
}

void stencil(Memory &m, int n, unsigned left, unsigned right)
{
   const float *a = m.floats(0), *c = m.floats(left), *d = m.floats(right);
   float *o = m.floats(1);
   const int plane = n * n;
#pragma omp parallel for
   for (int z = 0; z < n; z++) {
      for (int y = 0; y < n; y++) {
         const int row = (z * n + y) * n;
         if (z == 0 || y == 0 || z == n - 1 || y == n - 1) {
            std::copy_n(a + row, n, o + row);
            continue;
         }
         o[row] = a[row];
         o[row + n - 1] = a[row + n - 1];
#pragma omp simd
         for (int i = row + 1; i < row + n - 1; i++)
            o[i] = 0.4f * a[i] +
                   0.1f * (c[i - 1] + d[i + 1] + a[i - n] + a[i + n] + a[i - plane] + a[i + plane]);
      }
   }
}

void convolution(Memory &m, int n)
{
   constexpr int side = 5, edge = side / 2;
   const float *a = m.floats(0), *w = m.floats(2);
   float *o = m.floats(1);
#pragma omp parallel
   {
      std::vector<float> rows[side];
      for (std::vector<float> &row : rows)
         row.resize(n + 2 * edge);
#pragma omp for
      for (int y = 0; y < n; y++) {
         const float *t[side];
         for (int k = 0; k < side; k++) {
            const float *row = a + std::clamp(y + k - edge, 0, n - 1) * n;
            std::copy_n(row, n, rows[k].begin() + edge);
            std::fill_n(rows[k].begin(), edge, row[0]);
            std::fill_n(rows[k].end() - edge, edge, row[n - 1]);
            t[k] = rows[k].data();
         }
#pragma omp simd
         for (int x = 0; x < n; x++) {
            float sum = 0;
            for (int k = 0; k < side; k++) {
               for (int j = 0; j < side; j++)
                  sum += w[k * side + j] * t[k][x + j];
            }
            o[y * n + x] = sum;
         }
      }
   }
}

/// Blocks of 4 × 64 sums in registers.
void gemm(Memory &m, int n)
{
   constexpr int rows = 4, columns = 64;
   const float *a = m.floats(0), *b = m.floats(1);
   float *c = m.floats(2);
#pragma omp parallel for schedule(static)
   for (int i0 = 0; i0 < n; i0 += rows) {
      for (int j0 = 0; j0 < n; j0 += columns) {
         float sums[rows][columns] = {};
         for (int k = 0; k < n; k++) {
            for (int i = 0; i < rows; i++) {
               const float factor = a[(i0 + i) * n + k];
#pragma omp simd
               for (int j = 0; j < columns; j++)
                  sums[i][j] += factor * b[k * n + j0 + j];
            }
         }
         for (int i = 0; i < rows; i++)
            std::copy_n(sums[i], columns, c + (i0 + i) * n + j0);
      }
   }
}

void reduce(Memory &m, uint32_t n)
{
   constexpr uint32_t part = 1024;
   const float *a = m.floats(0);
   float *o = m.floats(1);
#pragma omp parallel for
   for (uint32_t i = 0; i < n / part; i++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (uint32_t j = 0; j < part; j++)
         sum += a[i * part + j];
      o[i] = sum;
   }
}

void scan(Memory &m, uint32_t n)
{
   const uint32_t *a = m.words(0);
   uint32_t *o = m.words(1);
   Words sums(omp_get_max_threads());
#pragma omp parallel
   {
      const uint32_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
      const uint32_t begin = uint64_t(n) * thread / threads,
                     end = uint64_t(n) * (thread + 1) / threads;
      uint32_t sum = 0;
      for (uint32_t i = begin; i < end; i++)
         sum += a[i];
      sums[thread] = sum;
#pragma omp barrier
      sum = 0;
      for (uint32_t i = 0; i < thread; i++)
         sum += sums[i];
      for (uint32_t i = begin; i < end; i++)
         o[i] = sum += a[i];
   }
}

void histogram(Memory &m, uint32_t n)
{
   constexpr uint32_t places = 256;
   const uint32_t *a = m.words(0);
   uint32_t *o = m.words(1);
   std::fill_n(o, places, 0);
#pragma omp parallel
   {
      uint32_t counts[4][places] = {};
#pragma omp for
      for (uint32_t i = 0; i < n; i++) {
         for (unsigned byte = 0; byte < 4; byte++)
            counts[byte][a[i] >> (8 * byte) & 255]++;
      }
#pragma omp critical
      for (uint32_t i = 0; i < places; i++)
         o[i] += counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
   }
}

void nbody(Memory &m, uint32_t n)
{
   const float *p = m.floats(0);
   float *o = m.floats(1);
   std::vector<float> parts[4];
   for (unsigned c = 0; c < 4; c++) {
      for (uint32_t i = 0; i < n; i++)
         parts[c].push_back(p[4 * i + c]);
   }
   const float *x = parts[0].data(), *y = parts[1].data(), *z = parts[2].data(),
               *mass = parts[3].data();
#pragma omp parallel for
   for (uint32_t i = 0; i < n; i++) {
      const float x0 = x[i], y0 = y[i], z0 = z[i];
      float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
      for (uint32_t j = 0; j < n; j++) {
         const float dx = x[j] - x0, dy = y[j] - y0, dz = z[j] - z0,
                     square = dx * dx + dy * dy + dz * dz + 0.01f, v = 1 / std::sqrt(square),
                     force = mass[j] * v * v * v;
         ax += dx * force;
         ay += dy * force;
         az += dz * force;
      }
      const float all[] = {ax, ay, az, 0};
      std::copy_n(all, 4, o + 4 * i);
   }
}

void transpose(Memory &m, uint32_t n, uint32_t repeats)
{
   constexpr uint32_t block = 16;
   const uint32_t *a = m.words(0);
   uint32_t *o = m.words(1);
   for (uint32_t r = 0; r < repeats; r++) {
#pragma omp parallel for
      for (uint32_t i0 = 0; i0 < n; i0 += block) {
         for (uint32_t j0 = 0; j0 < n; j0 += block) {
            for (uint32_t i = i0; i < i0 + block; i++) {
               for (uint32_t j = j0; j < j0 + block; j++)
                  o[i * n + j] = a[j * n + i];
            }
         }
      }
   }
}

void gather(Memory &m, uint32_t n)
{
   const uint32_t *a = m.words(0), *place = m.words(2);
   uint32_t *o = m.words(1);
#pragma omp parallel for
   for (uint32_t i = 0; i < n; i++)
      o[i] = a[place[i]];
}

void scatter(Memory &m, uint32_t n)
{
   const uint32_t *a = m.words(0), *place = m.words(2);
   uint32_t *o = m.words(1);
#pragma omp parallel for
   for (uint32_t i = 0; i < n; i++)
      o[place[i]] = a[i];
}

void dot_bytes(Memory &m, uint32_t rows, uint32_t words)
{
   const uint32_t length = 4 * words;
   const int8_t *a = m.bytes(0), *x = m.bytes(2);
   int32_t *o = m.integers(1);
#pragma omp parallel for
   for (uint32_t i = 0; i < rows; i++) {
      int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
      for (uint32_t j = 0; j < length; j++)
         sum += a[size_t(i) * length + j] * x[j];
      o[i] = sum;
   }
}

void exchange(Memory &m, uint32_t groups, uint32_t steps, bool flips)
{
   constexpr uint32_t size = 256;
   uint32_t *o = m.words(1);
#pragma omp parallel for
   for (uint32_t g = 0; g < groups; g++) {
      uint32_t s[2 * size], next[size]; // s repeats itself, for neighbours beyond the end
      for (uint32_t i = 0; i < size; i++)
         s[i] = s[i + size] = g * size + i;
      for (uint32_t k = 0; k < steps; k++) {
         for (uint32_t i = 0; i < size; i++)
            next[i] = s[flips ? i ^ 32 : i + k % size] * 1664525 + i;
         std::copy_n(next, size, s);
         std::copy_n(next, size, s + size);
      }
      std::copy_n(s, size, o + g * size);
   }
}

void increment(Memory &m, uint32_t repeats)
{
   uint32_t *o = m.words(1);
   for (uint32_t r = 0; r < repeats; r++) {
      for (uint32_t i = 0; i < 64; i++)
         o[i]++;
      forget_memory();
   }
}

} // namespace weft::bench
