// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_ARM_cooperative_matrix_layouts: matrices in interleaved blocks, to and from these and the
/// usual layouts, in every kind of memory, also where descriptors end within them.

#include "tests/e2e/cmat_program.h"
#include "tests/e2e/memory_access.h"
#include "tests/e2e/spirv_edits.h"

#include <cstring>

namespace weft::e2e {

namespace {

using oracle::draw;
using oracle::Matrix;

/// By SPIR-V's numbers.
enum class Order { rows = 0, columns = 1, row_blocks = 4202, column_blocks = 4203 };

struct Layout {
   Order order;
   uint32_t blocks = 0; ///< that are interleaved

   bool is_blocked() const { return blocks > 0; }
   std::string name() const
   {
      return std::to_string(int(order)) + (is_blocked() ? " by " + std::to_string(blocks) : "");
   }
};

/// The element of a byte.
struct Byte {
   uint32_t row, col, number;
};

/// The elements of all bytes of a matrix, by SPV_ARM_cooperative_matrix_layouts: blocks of 64
/// bytes, with 4 rows, in row-major or column-major order; groups of blocks are interleaved by 4
/// bytes.
std::vector<Byte> bytes_in_order(const MatrixType &type, const Layout &layout)
{
   const uint32_t size = type.component_bytes();
   std::vector<Byte> bytes;
   const auto add = [&](uint32_t row, uint32_t col) {
      for (uint32_t i = 0; i < size; i++)
         bytes.push_back({row, col, i});
   };
   switch (layout.order) {
   case Order::rows:
      for (uint32_t row = 0; row < type.rows; row++) {
         for (uint32_t col = 0; col < type.cols; col++)
            add(row, col);
      }
      return bytes;
   case Order::columns:
      for (uint32_t col = 0; col < type.cols; col++) {
         for (uint32_t row = 0; row < type.rows; row++)
            add(row, col);
      }
      return bytes;
   default:
      break;
   }
   const uint32_t cols = 16 / size;
   std::vector<std::vector<Byte>> blocks;
   const auto add_block = [&](uint32_t first_row, uint32_t first_col) {
      bytes.clear();
      for (uint32_t row = 0; row < 4; row++) {
         for (uint32_t col = 0; col < cols; col++)
            add(first_row + row, first_col + col);
      }
      blocks.push_back(bytes);
   };
   if (layout.order == Order::row_blocks) {
      for (uint32_t row = 0; row < type.rows; row += 4) {
         for (uint32_t col = 0; col < type.cols; col += cols)
            add_block(row, col);
      }
   } else {
      for (uint32_t col = 0; col < type.cols; col += cols) {
         for (uint32_t row = 0; row < type.rows; row += 4)
            add_block(row, col);
      }
   }
   bytes.clear();
   for (size_t group = 0; group < blocks.size(); group += layout.blocks) {
      for (uint32_t word = 0; word < 16; word++) {
         for (uint32_t i = 0; i < layout.blocks; i++)
            bytes.insert(bytes.end(), &blocks[group + i][4 * word],
                         &blocks[group + i][4 * word] + 4);
      }
   }
   return bytes;
}

/// The extension's layouts for a matrix.
std::vector<Layout> blocked_layouts(const MatrixType &type)
{
   const uint32_t cols = 16 / type.component_bytes();
   std::vector<Layout> layouts;
   for (const uint32_t blocks : {1, 2, 4}) {
      if (type.rows % 4 == 0 && type.cols % (cols * blocks) == 0)
         layouts.push_back({Order::row_blocks, blocks});
      if (type.rows % (4 * blocks) == 0 && type.cols % cols == 0)
         layouts.push_back({Order::column_blocks, blocks});
   }
   return layouts;
}

struct Pointee {
   const char *glsl;
   uint32_t bytes;
};

struct Case {
   MatrixType matrix;
   const char *scope = "gl_ScopeSubgroup";
   uint32_t local_size, subgroup_size;
   Layout load, store;
   Storage storage;
   Pointee pointee;
   uint32_t load_at, store_at; ///< in bytes

   uint32_t matrix_bytes() const { return matrix.rows * matrix.cols * matrix.component_bytes(); }
   std::string stride(const Layout &layout) const
   {
      return std::to_string(
         layout.is_blocked() ? layout.blocks
                             : line_bytes(matrix, layout.order == Order::columns) / pointee.bytes);
   }
   std::string name() const
   {
      return matrix.name() + " of " + scope + ", layouts " + load.name() + " to " + store.name() +
             ", " + storage_name(storage) + " of " + pointee.glsl + ", subgroup size " +
             std::to_string(subgroup_size);
   }
};

const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push { uvec2 from, to; } push;
$BLOCKS
void main()
{
   $MATRIX m;
   $COPY_IN
   coopMatLoad(m, $FROM, $LOAD_AT, $LOAD_STRIDE, $LOAD_ORDER);
   coopMatStore(m, $TO, $STORE_AT, $STORE_STRIDE, $STORE_ORDER);
   $COPY_OUT
}
)";

std::string shader_text(const Case &c)
{
   const auto access = [&](const char *buffer, const char *address, uint32_t at) {
      return MemoryAccess{.storage = c.storage,
                          .pointee = c.pointee.glsl,
                          .buffer = buffer,
                          .address = address,
                          .shared_size = std::to_string((at + c.matrix_bytes()) / c.pointee.bytes)};
   };
   const MemoryAccess source = access("source", "push.from", c.load_at),
                      target = access("target", "push.to", c.store_at);
   std::string matrix = c.matrix.glsl();
   const std::string subgroup = "gl_ScopeSubgroup";
   matrix.replace(matrix.find(subgroup), subgroup.size(), c.scope);
   const Words words = {
      {"SIZE", std::to_string(c.local_size)},
      {"BLOCKS", buffer_block(0, c.pointee.glsl, "source") +
                    buffer_block(1, c.pointee.glsl, "target") + source.declarations() +
                    target.declarations()},
      {"MATRIX", matrix},
      {"LOAD_AT", std::to_string(c.load_at / c.pointee.bytes)},
      {"LOAD_STRIDE", c.stride(c.load)},
      {"LOAD_ORDER", std::to_string(int(c.load.order))},
      {"STORE_AT", std::to_string(c.store_at / c.pointee.bytes)},
      {"STORE_STRIDE", c.stride(c.store)},
      {"STORE_ORDER", std::to_string(int(c.store.order))},
      {"FROM", source.array()},
      {"TO", target.array()},
      {"COPY_IN", source.copy_in() + target.copy_in()},
      {"COPY_OUT", target.copy_out()},
   };
   return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" + expand(text, words);
}

/// A case with random layouts, memory and pointees. At least one of the layouts is blocked.
Case random_case(const Device &device, oracle::Random &random, const MatrixType &type,
                 const std::vector<Layout> &blocked)
{
   const auto any_layout = [&]() -> Layout {
      const uint32_t choice = draw(random, uint32_t(blocked.size()) + 2);
      return choice < 2 ? Layout{Order(choice)} : blocked[choice - 2];
   };
   Case c = {.matrix = type,
             .load = any_layout(),
             .store = blocked[draw(random, uint32_t(blocked.size()))]};
   if (draw(random, 2))
      std::swap(c.load, c.store);
   c.storage = Storage(draw(random, 3));
   if (c.storage == Storage::reference && !device.features12.bufferDeviceAddress)
      c.storage = Storage::buffer;
   const Pointee pointees[] = {
      {oracle::format(type.type).glsl, type.component_bytes()}, {"uint", 4}, {"uvec4", 16}};
   do
      c.pointee = pointees[draw(random, uint32_t(std::size(pointees)))];
   while (line_bytes(type, false) % c.pointee.bytes != 0 ||
          line_bytes(type, true) % c.pointee.bytes != 0);
   c.load_at = 16 * draw(random, 4);
   c.store_at = 16 * draw(random, 4);
   if (c.storage == Storage::shared &&
       device.properties.limits.maxComputeSharedMemorySize < 2 * (c.matrix_bytes() + 64))
      c.storage = Storage::buffer;
   return c;
}

/// Runs the case in whole descriptors or, with `cut`, in descriptors that end within the matrix.
void run(Device &device, oracle::Random &random, const Case &c, bool cut)
{
   SCOPED_TRACE(c.name());
   const std::string glsl = shader_text(c);
   if (const std::string why = inexpressible(glsl); !why.empty())
      return skip_case(why);
   std::vector<uint32_t> spirv = compile_glsl(glsl);
   declare_blocked_layouts(spirv);

   const std::vector<Byte> from = bytes_in_order(c.matrix, c.load),
                           to = bytes_in_order(c.matrix, c.store);
   ASSERT_EQ(from.size(), c.matrix_bytes());
   const uint32_t source_bytes = c.load_at + c.matrix_bytes(),
                  target_bytes = c.store_at + c.matrix_bytes();
   // If buffers lack elements of this size, their ranges are whole words.
   const bool has_elements =
      c.matrix.component_bytes() == 1   ? device.features12.storageBuffer8BitAccess
      : c.matrix.component_bytes() == 2 ? device.features11.storageBuffer16BitAccess
                                        : true;
   const uint32_t unit = has_elements ? c.matrix.component_bytes() : 4;
   const auto range = [&](uint32_t bytes) {
      return cut ? unit * (1 + draw(random, bytes / unit)) : bytes;
   };
   const uint32_t source_size = range(source_bytes), target_size = range(target_bytes);
   SCOPED_TRACE("ranges of " + std::to_string(source_size) + " and " + std::to_string(target_size));

   Buffer source(device, source_bytes), target(device, target_bytes);
   const Matrix matrix = random_matrix(random, c.matrix, oracle::Inputs::edges);
   oracle::fill_poison(source.bytes());
   oracle::fill_poison(target.bytes());
   std::vector<std::byte> expected(target.bytes().begin(), target.bytes().end());
   Matrix loaded(c.matrix.type, c.matrix.rows, c.matrix.cols);
   for (size_t i = 0; i < from.size(); i++) {
      const auto [row, col, number] = from[i];
      source.bytes()[c.load_at + i] = matrix.at(row, col)[number];
      if (c.load_at + i < source_size)
         loaded.at(row, col)[number] = matrix.at(row, col)[number];
   }
   for (size_t i = 0; i < to.size() && c.store_at + i < target_size; i++)
      expected[c.store_at + i] = loaded.at(to[i].row, to[i].col)[to[i].number];

   Pipeline pipeline(device, spirv,
                     {.bindings = {1, 1},
                      .push_bytes = 16,
                      .subgroup_size = c.subgroup_size,
                      .spec_constants = {}});
   struct {
      uint64_t from, to;
   } push = {};
   if (c.storage == Storage::reference)
      push = {source.address(), target.address()};
   pipeline.dispatch({{source, 0, source_size}, {target, 0, target_size}}, {}, push);
   count_case();
   for (size_t i = 0; i < expected.size(); i++)
      ASSERT_EQ(unsigned(expected[i]), unsigned(target.bytes()[i])) << "byte " << i;
}

bool has_feature(const Device &device)
{
   if (device.layouts_features.cooperativeMatrixArmLayouts)
      return true;
   skip_case("needs cooperativeMatrixArmLayouts");
   return false;
}

/// Calls the body for each matrix type with blocked layouts, with a subgroup size.
void for_each_type(Device &device, oracle::Random &random, uint32_t reduction,
                   const std::function<void(const MatrixType &, const std::vector<Layout> &,
                                            uint32_t subgroup_size)> &body)
{
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = draw(random, uint32_t(sizes.size()));
   for (const MatrixType &type : matrix_types(device, SmallFloats::with)) {
      const std::vector<Layout> blocked = blocked_layouts(type);
      const std::string missing = missing_features(device, {type});
      if (blocked.empty() || !missing.empty()) {
         skip_case(blocked.empty() ? "matrices without whole blocks" : "needs " + missing);
         continue;
      }
      if (draw(random, reduction) != 0 || !selected(random, 4))
         continue;
      body(type, blocked, sizes[turn++ % sizes.size()]);
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace

TEST(CmatLayouts, Blocks)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!has_feature(device))
      return;
   for_each_type(device, random, 1,
                 [&](const MatrixType &type, const std::vector<Layout> &blocked, uint32_t size) {
                    Case c = random_case(device, random, type, blocked);
                    c.local_size = c.subgroup_size = size;
                    run(device, random, c, false);
                 });
}

/// Descriptors may end within a matrix if cooperativeMatrixRobustBufferAccess is enabled.
TEST(CmatLayouts, EndsOfDescriptors)
{
   Device &device = robust_device();
   oracle::Random random = test_random();
   if (!has_feature(device))
      return;
   if (!device.matrix_features.cooperativeMatrixRobustBufferAccess)
      return skip_case("needs cooperativeMatrixRobustBufferAccess");
   for_each_type(device, random, 3,
                 [&](const MatrixType &type, const std::vector<Layout> &blocked, uint32_t size) {
                    Case c = random_case(device, random, type, blocked);
                    c.local_size = c.subgroup_size = size;
                    c.storage = Storage::buffer;
                    c.pointee = {oracle::format(type.type).glsl, type.component_bytes()};
                    c.load = blocked[draw(random, uint32_t(blocked.size()))];
                    c.store = blocked[draw(random, uint32_t(blocked.size()))];
                    run(device, random, c, true);
                 });
}

TEST(CmatLayouts, Workgroups)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!has_feature(device))
      return;
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   for (const VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p : device.flexible_properties) {
      if (p.scope != VK_SCOPE_WORKGROUP_KHR || draw(random, 8) != 0)
         continue;
      const auto size = [&](uint32_t granularity) {
         return granularity * (1 + draw(random, 64 / granularity));
      };
      const MatrixType type = {ComponentType(p.AType), size(p.MGranularity), size(p.KGranularity),
                               Use::a};
      const std::vector<Layout> blocked = blocked_layouts(type);
      if (blocked.empty() || !missing_features(device, {type}).empty())
         continue;
      Case c = random_case(device, random, type, blocked);
      c.scope = "gl_ScopeWorkgroup";
      c.local_size = p.workgroupInvocations;
      c.subgroup_size = sizes[draw(random, uint32_t(sizes.size()))];
      run(device, random, c, false);
      if (testing::Test::HasFailure())
         return;
   }
   skip_case("others than a few of the matrices of workgroups");
}

} // namespace weft::e2e
