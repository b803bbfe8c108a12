// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles: the functions that generated code calls to load, store and multiply tiles.
///
/// A tile of rows x cols components is a dense row-major array in the subgroup's private memory, by
/// the layout of the element map:
///
///        tile + (row * cols + col) * bytes
///
/// Tiles and memory need the alignment of a component only; packed factors need the alignment of
/// 32-bit words. Tiles at multiples of 64 bytes are faster: no vector straddles two cache lines.
///
/// In memory, row r (row major) or column r (column major) starts at memory + r * stride. The
/// stride is any number of bytes, also zero or negative.
///
/// Generated code names these functions by symbol, so that another process can link a cached
/// object. find_runtime_symbol() finds them (runtime_symbols.h). A symbol does not name an
/// instruction set: it stands for the best function for the CPU for which the program is linked.

#pragma once

#include "nir_passes/matrix_support.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cpu {

struct CpuFeatures;

/// A block of sums, each of `depth` products, whose tiles have these distances in bytes:
///
///     d[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + … + c[i][j]
///
///     a[i][k] at a + i * a_row + k * a_step        b[k][j] at b + j * b_col + k * b_step
///     c[i][j], d[i][j] at i * d_row + j * d_col from theirs
///
/// So C goes through registers once for many products, and several sums share the loads of factors.
struct TileBlock {
   uint32_t rows = 1, cols = 1, depth = 1; ///< at least one
   uint64_t a_row = 0, a_step = 0, b_col = 0, b_step = 0, d_row = 0, d_col = 0;
};

/// The sums of a block of whole tiles. Factors are packed if tile_pack_symbol() has a name for the
/// packing. The result is the same as by one call per product, whose sums pass through d. Two
/// exceptions: sums of floats narrower than f32 are added in f32 and rounded once, and AMX may
/// round sums of halves otherwise. d may be c; otherwise no d overlaps another operand. If c and d
/// differ in type, the block is one sum. Some functions need a TileConfiguration:
/// needs_tile_configuration().
using TileMulAdd = void (*)(void *d, const void *a, const void *b, const void *c,
                            const TileBlock *);

/// Memory to tile.
using TileLoad = void (*)(void *tile, const void *memory, int64_t stride);
/// Tile to memory.
using TileStore = void (*)(void *memory, const void *tile, int64_t stride);

/// The same for memory = base + offset, where `size` bytes from base on may be accessed. A
/// component that is not wholly inside is read as zero and not written.
using TileLoadRobust = void (*)(void *tile, const void *base, uint64_t offset, uint64_t size,
                                int64_t stride);
using TileStoreRobust = void (*)(void *base, uint64_t offset, uint64_t size, const void *tile,
                                 int64_t stride);

enum class TileAccess : uint8_t { load, store };
enum class TileOrder : uint8_t { row_major, column_major };

/// The tile, its layout in memory, and whether bounds are checked.
struct TileTransfer {
   TileAccess access;
   TileOrder order;
   bool robust;
   uint32_t rows, cols; ///< 8, 16 or 32; 16 and 64 of bytes
   uint32_t bytes;      ///< per component: 1, 2, 4 or 8
};

enum class TileFactor : uint8_t { a, b };

/// A TileLoad or TileLoadRobust that packs a factor in memory for its multiplications: components
/// are converted, or the components that an instruction takes at once become neighbours. The layout
/// differs from instruction set to instruction set.
struct TilePack {
   MatrixOperation op; ///< one of the operations with the same packing
   TileFactor factor;
   TileOrder order;
   bool robust;
};

/// The multiplications of tiles: cpu_matrix_operations(). Operations with C and result narrower
/// than f32 have two more with one of them in f32, for the begin and the end of a longer sum
/// (split_cmat_shapes.h).
const std::vector<MatrixOperation> &tile_operations();

/// "weft_tile_muladd_16x16x16_f16_f16_f32_f32". All of tile_operations() have a kernel for every
/// instruction set; others have the empty name.
std::string tile_muladd_symbol(const MatrixOperation &);
/// "weft_tile_load_column_16x8_2_robust"; the empty name for sizes without a function.
std::string tile_transfer_symbol(const TileTransfer &);

/// "weft_tile_pack_b_column_16x16x32_s8_s8_robust"; the empty name if the operation's kernel takes
/// the factor as a tile.
std::string tile_pack_symbol(const TilePack &);
/// Whether the kernel of an operation takes a packed factor.
bool is_packed(const MatrixOperation &, TileFactor);
/// Whether the kernels of two operations take the same packing of a factor.
bool same_packing(const MatrixOperation &, const MatrixOperation &, TileFactor);
/// The most bytes of a packed factor, for all instruction sets.
uint32_t packed_bytes(const MatrixOperation &, TileFactor);

/// The functions themselves; null if the name would be empty.
TileMulAdd find_tile_muladd(const MatrixOperation &, const CpuFeatures &);
void *find_tile_transfer(const TileTransfer &, const CpuFeatures &);
void *find_tile_pack(const TilePack &, const CpuFeatures &);
bool needs_tile_configuration(const MatrixOperation &, const CpuFeatures &);
bool needs_tile_configuration(std::string_view symbol, const CpuFeatures &);
/// The tile function with this symbol; null for other names.
void *find_tile_symbol(std::string_view name, const CpuFeatures &);

} // namespace weft::cpu
