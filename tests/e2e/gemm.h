// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A matrix product on the device, built from cooperative-matrix tiles, for the GEMM tests and the
/// demo.

#pragma once

#include "tests/e2e/cmat.h"

#include <memory>

namespace weft::e2e {

/// A workgroup has two rows of subgroups, and each computes tiles_m × tiles_n tiles of the result.
/// So a workgroup covers (2·tiles_m·m) × (subgroups_n·tiles_n·n) elements. Smaller sizes use fewer
/// subgroups in that direction.
struct GemmShader {
   /// The way in which a workgroup loads its part of A and B.
   enum class Staging {
      none,     ///< each subgroup loads its tiles
      elements, ///< for each step along K through shared memory, element by element
      /// for some steps at once through shared memory, 16 bytes at a time, the next on its way
      /// while these are multiplied: as applications do it.  K is a multiple of stage_depth().
      blocks,
   };

   MatrixOperation operation;
   uint32_t subgroup_size;
   uint32_t tiles_m, tiles_n;
   Staging staging;
   uint32_t subgroups_n = 2; ///< at most
   /// For Staging::blocks: bytes of a line that are in shared memory at a time, at least one step
   /// along K; and the number of stages. With two stages, one is filled while the other is
   /// multiplied.
   uint32_t stage_bytes = 64, stages = 1;
   /// The sizes are specialization constants, as in programs that specialize their shaders, instead
   /// of push constants.
   bool constant_sizes = false;

   /// Whether a step along K is made of whole blocks, as Staging::blocks needs it.
   bool has_blocks() const;
   /// Elements along K of a stage.
   uint32_t stage_depth() const;
};

/// A (m×k) and C, D (m×n) row-major, B (k×n) column-major; all sizes multiples of the tile's.
class Gemm {
public:
   Gemm(Device &, const GemmShader &, uint32_t m, uint32_t n, uint32_t k,
        MemoryPlace = MemoryPlace::host);

   void upload(const oracle::Matrix &a, const oracle::Matrix &b, const oracle::Matrix &c);
   /// Computes D = A·B + C `times` times, after poisoning D. Returns the seconds that it took.
   double run(uint32_t times);
   /// The same, added to the contents of D.
   double dispatch(uint32_t times);
   oracle::Matrix download();
   /// Whether the zones before and after D are unchanged.
   bool guards_intact();

private:
   GemmShader shader;
   uint32_t m, n, k;
   uint32_t subgroups_m, subgroups_n;
   std::unique_ptr<Buffer> a, b, c, d;
   std::unique_ptr<Pipeline> pipeline;
};

/// Root mean square of the errors of floats, each as a part of its bound. Bounds are for the worst
/// case. Random roundings stay far below them, by about the square root of their number; biased
/// roundings do not. 0 for integers.
double rms_error(const oracle::Expectation &, const oracle::Matrix &actual);
/// The bounds for a sum of `depth` products.
double rms_limit(const MatrixOperation &, uint32_t depth);

/// The expected D: one multiply-add for each k columns of A, in ascending order.
oracle::Expectation gemm_expectation(const Device &, const MatrixOperation &,
                                     const oracle::Matrix &a, const oracle::Matrix &b,
                                     const oracle::Matrix &c);

} // namespace weft::e2e
