// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The kernels in C++, with OpenMP: the same algorithms, as one would write them for a CPU.

#pragma once

#include <cstdint>
#include <vector>

namespace weft::bench {

using Words = std::vector<uint32_t>;

/// The buffers of a kernel by binding, of 32-bit words.
struct Memory {
   std::vector<Words> buffers;

   uint32_t *words(unsigned binding) { return buffers[binding].data(); }
   int32_t *integers(unsigned b) { return reinterpret_cast<int32_t *>(words(b)); }
   int8_t *bytes(unsigned b) { return reinterpret_cast<int8_t *>(words(b)); }
   float *floats(unsigned b) { return reinterpret_cast<float *>(words(b)); }
   double *doubles(unsigned b) { return reinterpret_cast<double *>(words(b)); }
};

void copy(Memory &, uint32_t n);
void saxpy(Memory &, uint32_t n, uint32_t repeats);
void daxpy(Memory &, uint32_t n);
void stencil(Memory &, int n, unsigned left, unsigned right);
void convolution(Memory &, int n);
void gemm(Memory &, int n);
void reduce(Memory &, uint32_t n);
void scan(Memory &, uint32_t n);
void histogram(Memory &, uint32_t n);
void bitonic_sort(Memory &, uint32_t n);
void nbody(Memory &, uint32_t n);
void mandelbrot(Memory &, uint32_t n);
void transpose(Memory &, uint32_t n, uint32_t repeats);
void gather(Memory &, uint32_t n);
void scatter(Memory &, uint32_t n);
void sha256(Memory &, uint32_t n);
void dot_bytes(Memory &, uint32_t rows, uint32_t words);
/// Each step reads the neighbour at a distance that grows by one, or, with `flips`, the one whose
/// number differs by 32.
void exchange(Memory &, uint32_t groups, uint32_t steps, bool flips);
void increment(Memory &, uint32_t repeats);

} // namespace weft::bench
