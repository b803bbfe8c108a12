// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles: the functions that generated code calls for a tile's load, store and multiplication.
///
/// A tile of rows x cols components is a dense row-major array in the subgroup's private memory, as the element map
/// lays it out:
///
///        tile + (row * cols + col) * bytes
///
/// Neither tiles nor memory need more alignment than a component has; packed factors have that of words of 32 bits.  A
/// tile whose address is a multiple of 64 is faster, as no vector of it straddles two cache lines.
///
/// In memory, row r (row major) or column c (column major) starts at memory + r * stride; stride is in bytes, may be
/// zero or negative and need not be a multiple of anything.
///
/// Generated code names these functions by symbol, so that a cached object can be linked in another process; the
/// linker finds them with find_runtime_symbol() (runtime_symbols.h).  A symbol does not name an instruction set: it
/// stands for the best function for the CPU that the program is linked for.

#pragma once

#include "nir_passes/matrix_support.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cpu {

struct CpuFeatures;

/// A block of sums, each of `depth` products, whose tiles lie so many bytes apart:
///
///     d[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + … + c[i][j]
///
///     a[i][k] at a + i * a_row + k * a_step        b[k][j] at b + j * b_col + k * b_step
///     c[i][j], d[i][j] at i * d_row + j * d_col from theirs
///
/// So C goes through registers once for many products, and factors are loaded once for several sums.
struct TileBlock {
   uint32_t rows = 1, cols = 1, depth = 1; ///< at least one
   uint64_t a_row = 0, a_step = 0, b_col = 0, b_step = 0, d_row = 0, d_col = 0;
};

/// The sums of a block, of whole tiles, factors packed where tile_pack_symbol() has a name for it.  The result is that of
/// so many calls with one product each, whose sums pass through d; but sums of floats narrower than f32 are added up in
/// f32 and rounded once, and AMX's of halves may be rounded otherwise.  d may be c; otherwise no d overlaps one of the
/// others.  Where c and d differ in type, the block is one sum.  Some are called within a TileConfiguration only:
/// needs_tile_configuration().
using TileMulAdd = void (*)(void *d, const void *a, const void *b, const void *c,
                            const TileBlock *);

/// Memory to tile.
using TileLoad = void (*)(void *tile, const void *memory, int64_t stride);
/// Tile to memory.
using TileStore = void (*)(void *memory, const void *tile, int64_t stride);

/// The same for memory = base + offset of which `size` bytes from base on may be accessed: a
/// component that does not lie wholly in there is read as zero and not written.
using TileLoadRobust = void (*)(void *tile, const void *base, uint64_t offset, uint64_t size,
                                int64_t stride);
using TileStoreRobust = void (*)(void *base, uint64_t offset, uint64_t size, const void *tile,
                                 int64_t stride);

enum class TileAccess : uint8_t { load, store };
enum class TileOrder : uint8_t { row_major, column_major };

/// Which tile, how it lies in memory, and whether bounds are checked.
struct TileTransfer {
   TileAccess access;
   TileOrder order;
   bool robust;
   uint32_t rows, cols; ///< 8, 16 or 32
   uint32_t bytes;      ///< per component: 1, 2, 4 or 8
};

enum class TileFactor : uint8_t { a, b };

/// What makes of a factor in memory what a multiplication wants in its place: components converted, or those side by
/// side that an instruction takes at once.  It is a TileLoad, or a TileLoadRobust.  Packed factors are made for their
/// multiplications; how they look differs from instruction set to instruction set.
struct TilePack {
   MatrixOperation op; ///< one of those that want the same
   TileFactor factor;
   TileOrder order;
   bool robust;
};

/// The multiplications of tiles: matrix_operations(); and where C and the result are floats narrower than f32, those with
/// one of the two in f32, with which a longer sum begins and ends (split_cmat_shapes.h).
const std::vector<MatrixOperation> &tile_operations();

/// "weft_tile_muladd_16x16x16_f16_f16_f32_f32".  All of tile_operations() have a kernel, for every instruction set; others
/// have the empty name.
std::string tile_muladd_symbol(const MatrixOperation &);
/// "weft_tile_load_column_16x8_2_robust"; the empty name for sizes that no advertised operation
/// has.
std::string tile_transfer_symbol(const TileTransfer &);

/// "weft_tile_pack_b_column_16x16x32_s8_s8_robust"; the empty name where the kernel of the operation takes the factor
/// as a tile.
std::string tile_pack_symbol(const TilePack &);
/// Whether the kernel of an operation wants a factor packed.
bool is_packed(const MatrixOperation &, TileFactor);
/// Whether two operations want the same in place of a factor, and some packing of it.
bool same_packing(const MatrixOperation &, const MatrixOperation &, TileFactor);
/// The most that a packed factor takes, whatever the instruction set.
uint32_t packed_bytes(const MatrixOperation &, TileFactor);

/// The functions themselves; null where the name would be empty.
TileMulAdd find_tile_muladd(const MatrixOperation &, const CpuFeatures &);
void *find_tile_transfer(const TileTransfer &, const CpuFeatures &);
void *find_tile_pack(const TilePack &, const CpuFeatures &);
bool needs_tile_configuration(const MatrixOperation &, const CpuFeatures &);
bool needs_tile_configuration(std::string_view symbol, const CpuFeatures &);
/// By symbol; null when the name is not one of these.
void *find_tile_symbol(std::string_view name, const CpuFeatures &);

} // namespace weft::cpu
