// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// cooperativeMatrixRobustBufferAccess: a matrix that lies partly or wholly outside of its
/// descriptor's range loads zeros there and stores nothing there. The bytes beyond the range belong
/// to the same buffer, so that a wrong access is visible.

#include "tests/e2e/cmat_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::e2e {

namespace {

using oracle::Matrix;

const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push { uint load_at, load_stride, store_at, store_stride; } push;
$BLOCKS
$DECODE
void main()
{
   $MATRIX m;
   $ACCESS
}
)";

const char *const plain_access = R"(
   coopMatLoad(m, source.data, push.load_at, push.load_stride, $LOAD_LAYOUT);
   coopMatStore(m, target.data, push.store_at, push.store_stride, $STORE_LAYOUT);
)";

const char *const nv_access = R"(
   coopMatLoadNV(m, source.data, push.load_at, push.load_stride, $LOAD_COLUMNS);
   coopMatStoreNV(m, target.data, push.store_at, push.store_stride, $STORE_COLUMNS);
)";

/// The same memory as a tensor of two dimensions, which the matrix covers.
const char *const tensor_access = R"(
   tensorLayoutNV<2> loaded = createTensorLayoutNV(2), stored = createTensorLayoutNV(2);
   loaded = setTensorLayoutDimensionNV(loaded, $ROWS, $COLS);
   loaded = setTensorLayoutStrideNV(loaded, push.load_stride, 1);
   stored = setTensorLayoutDimensionNV(stored, $ROWS, $COLS);
   stored = setTensorLayoutStrideNV(stored, push.store_stride, 1);
   coopMatLoadTensorNV(m, source.data, push.load_at, loaded$DECODES);
   coopMatStoreTensorNV(m, target.data, push.store_at, stored);
)";

/// A block is a component, and its value decodes to itself, so that the zeros of a block outside
/// give a zero too.
const char *const decode_function = R"(
layout(buffer_reference, scalar, buffer_reference_align = $BYTES) buffer Block { $ELEMENT value; };
$ELEMENT decode(const in Block block, const in uint32_t which[2], const in uint32_t place[2])
{
   return block.value;
}
)";

struct Push {
   uint32_t load_at, load_stride, store_at, store_stride;
};

/// The size of a buffer with room for the matrix at all tested offsets.
uint32_t buffer_size(const MatrixType &type)
{
   return 8192 + 2 * type.rows * type.cols * type.component_bytes() + 16 * (type.rows + type.cols);
}

/// The way in which a shader accesses the matrix.
struct Access {
   bool tensor = false;
   /// The size of the elements of the buffers' arrays: components, or words. The range may end
   /// within a word.
   uint32_t element_bytes = 0; ///< 0 for components
   uint32_t workgroup = 0;     ///< invocations of a matrix of workgroup scope
   bool decode = false;        ///< a tensor whose blocks are decoded
   bool nv = false;            ///< VK_NV_cooperative_matrix's
};

class RobustCase {
public:
   RobustCase(Device &device, oracle::Random &random, const MatrixType &type,
              uint32_t subgroup_size, const Access &access = {})
       : device(device), random(random), type(type), access(access),
         buffer_bytes(buffer_size(type)), source(device, buffer_bytes),
         target(device, buffer_bytes), load_column_major(!access.tensor && oracle::draw(random, 2)),
         store_column_major(!access.tensor && oracle::draw(random, 2)),
         pipeline(device, compile_glsl(shader_text(subgroup_size)),
                  {.bindings = {1, 1},
                   .push_bytes = sizeof(Push),
                   .subgroup_size = subgroup_size,
                   .spec_constants = {}})
   {
   }

   /// Loads and stores the matrix at `offset` bytes in ranges of these sizes.
   void run(uint32_t offset, uint32_t source_size, uint32_t target_size)
   {
      run(offset, source_size, target_size, stride(load_column_major), stride(store_column_major));
   }

   void run(uint32_t offset, uint32_t source_size, uint32_t target_size, uint32_t load_stride,
            uint32_t store_stride)
   {
      const uint32_t unit = type.component_bytes();
      SCOPED_TRACE("at byte " + std::to_string(offset) + " of ranges of " +
                   std::to_string(source_size) + " and " + std::to_string(target_size) +
                   " bytes, loaded " + (load_column_major ? "column" : "row") + "-major, stored " +
                   (store_column_major ? "column" : "row") + "-major");
      const Placement load = {load_column_major, offset, load_stride};
      const Placement store = {store_column_major, offset, store_stride};
      // NaN of small floats need not keep its bits.
      const Matrix matrix = random_matrix(
         random, type, is_small_float(type.type) ? oracle::Inputs::plain : oracle::Inputs::edges);
      oracle::fill_poison(source.bytes());
      oracle::fill_random(random, ComponentType::u32, oracle::Inputs::plain, target.bytes());
      const uint32_t start = uint32_t(device.properties.limits.minStorageBufferOffsetAlignment);
      std::vector<std::byte> expected(target.bytes().begin(), target.bytes().end());
      for (uint32_t row = 0; row < type.rows; row++) {
         for (uint32_t col = 0; col < type.cols; col++) {
            const size_t from = load.address(type, row, col), to = store.address(type, row, col);
            if (start + from + unit <= buffer_bytes)
               memcpy(&source.bytes()[start + from], matrix.at(row, col), unit);
            if (to + unit > target_size)
               continue;
            if (from + unit <= source_size)
               memcpy(&expected[start + to], matrix.at(row, col), unit);
            else
               memset(&expected[start + to], 0, unit);
         }
      }
      const uint32_t element = element_bytes();
      const Push push = {load.offset / element, load.stride / element, store.offset / element,
                         store.stride / element};
      pipeline.dispatch({{source, start, source_size}, {target, start, target_size}}, {}, push);
      count_case();
      for (size_t i = 0; i < expected.size(); i++) {
         if (expected[i] != target.bytes()[i]) {
            ADD_FAILURE() << "byte " << i << " (range starts at " << start << ") is "
                          << unsigned(target.bytes()[i]) << ", expected " << unsigned(expected[i])
                          << (i >= start + target_size ? ": written outside of the range" : "");
            return;
         }
      }
   }

   /// The least range, in whole 16 bytes, that holds the matrix as it is loaded and stored.
   uint32_t whole() const
   {
      const size_t largest =
         std::max(extent(type, {load_column_major, 0, stride(load_column_major)}),
                  extent(type, {store_column_major, 0, stride(store_column_major)}));
      return uint32_t((largest + 15) / 16 * 16);
   }

private:
   uint32_t element_bytes() const
   {
      return access.element_bytes ? access.element_bytes : type.component_bytes();
   }

   uint32_t stride(bool column_major) const
   {
      return (line_bytes(type, column_major) + 15) / 16 * 16 + 16;
   }

   std::string shader_text(uint32_t subgroup_size)
   {
      const std::string element = access.element_bytes == 16  ? "uvec4"
                                  : access.element_bytes == 4 ? "uint"
                                                              : oracle::format(type.type).glsl;
      std::string matrix = type.glsl();
      if (access.workgroup) {
         const std::string scope = "gl_ScopeSubgroup";
         matrix.replace(matrix.find(scope), scope.size(), "gl_ScopeWorkgroup");
      }
      if (access.nv) {
         const oracle::Format &f = oracle::format(type.type);
         matrix = std::string(f.is_float    ? "f"
                              : f.is_signed ? "i"
                                            : "u") +
                  "coopmatNV<" + std::to_string(8 * f.bytes) + ", gl_ScopeSubgroup, " +
                  std::to_string(type.rows) + ", " + std::to_string(type.cols) + ">";
      }
      const Words words = {
         {"DECODE", access.decode
                       ? expand(decode_function, {{"BYTES", std::to_string(type.component_bytes())},
                                                  {"ELEMENT", oracle::format(type.type).glsl}})
                       : ""},
         {"DECODES", access.decode ? ", decode" : ""},
         {"SIZE", std::to_string(access.workgroup ? access.workgroup : subgroup_size)},
         {"BLOCKS", buffer_block(0, element, "source") + buffer_block(1, element, "target")},
         {"MATRIX", matrix},
         {"ACCESS", access.tensor ? tensor_access
                    : access.nv   ? nv_access
                                  : plain_access},
         {"LOAD_COLUMNS", load_column_major ? "true" : "false"},
         {"STORE_COLUMNS", store_column_major ? "true" : "false"},
         {"ROWS", std::to_string(type.rows)},
         {"COLS", std::to_string(type.cols)},
         {"LOAD_LAYOUT", Placement{load_column_major, 0, 0}.glsl_layout()},
         {"STORE_LAYOUT", Placement{store_column_major, 0, 0}.glsl_layout()},
      };
      return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" + expand(text, words);
   }

   Device &device;
   oracle::Random &random;
   MatrixType type;
   Access access;
   uint32_t buffer_bytes;
   Buffer source, target;
   bool load_column_major, store_column_major;
   Pipeline pipeline;
};

/// Vulkan permits accesses out of bounds to wrap to other places of the same buffer. The accesses
/// of lavapipe's own matrices do.
bool may_wrap(const Device &device)
{
   return is_of_another_driver(device, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
}

void run_near_the_end(oracle::Random &random, RobustCase &c)
{
   const uint32_t whole = c.whole();
   const auto part = [&] { return std::max(16u, oracle::draw(random, whole / 4) * 4); };
   c.run(0, whole, whole);          // all inside
   c.run(0, part(), whole);         // loads end early
   c.run(0, whole, part());         // stores end early
   c.run(16, part(), part());       // both
   c.run(16, whole, whole);         // the last line crosses the end
   c.run(whole, whole, whole);      // all outside, just behind
   c.run(0x40000000, whole, whole); // far outside
}

/// Whether the test can run; skips it otherwise.
bool has_robust_access(const Device &device)
{
   if (device.matrix_features.cooperativeMatrixRobustBufferAccess)
      return true;
   skip_case("needs cooperativeMatrixRobustBufferAccess");
   return false;
}

/// Whether an operation of VK_NV_cooperative_matrix has this matrix.
bool has_matrix_without_a_use(const Device &device, const MatrixType &type)
{
   return std::ranges::any_of(
      device.nv_matrix_properties, [&](const VkCooperativeMatrixPropertiesNV &p) {
         const auto is = [&](VkComponentTypeNV component, uint32_t rows, uint32_t cols) {
            return ComponentType(component) == type.type && rows == type.rows && cols == type.cols;
         };
         return is(p.AType, p.MSize, p.KSize) || is(p.BType, p.KSize, p.NSize) ||
                is(p.CType, p.MSize, p.NSize) || is(p.DType, p.MSize, p.NSize);
      });
}

} // namespace

TEST(CmatRobust, LoadsZerosAndStoresNothingOutside)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      RobustCase c(device, random, type, subgroup_size);
      run_near_the_end(random, c);
      const uint32_t whole = c.whole();
      if (may_wrap(device))
         return;
      c.run(0xfffffff0, whole, whole); // where 32-bit addresses wrap
      c.run(16, whole, whole, 0x20000000,
            0x80000000); // strides with which the 8th and the 2nd line would wrap to the start
   });
}

/// Matrices without a use, whose robust access is a separate feature.
TEST(CmatRobust, MatricesWithoutAUse)
{
   Device &device = robust_device();
   if (!device.nv_matrix_features.cooperativeMatrixRobustBufferAccess)
      return skip_case("needs cooperativeMatrixRobustBufferAccessNV");
   if (is_of_another_driver(device, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME))
      return skip_case("a driver's own accesses may wrap");
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      if (type.component_bytes() == 8)
         return skip_case("needs GLSL with matrices of 64 bits without a use");
      if (!has_matrix_without_a_use(device, type))
         return skip_case("needs matrices of this size without a use");
      RobustCase c(device, random, type, subgroup_size, {.nv = true});
      run_near_the_end(random, c);
   });
}

TEST(CmatRobust, SmallFloats)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   const std::vector<MatrixType> types = matrix_types(device, SmallFloats::with);
   if (!has_small_floats(types))
      GTEST_SKIP() << "no matrices of bfloat16 or float8";
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   for (const MatrixType &type : types) {
      if (!is_small_float(type.type))
         continue;
      if (const std::string missing = missing_matrix_feature(device, type.type); !missing.empty()) {
         skip_case("needs " + missing);
         continue;
      }
      if (!selected(random, 4))
         continue;
      const uint32_t size = sizes[oracle::draw(random, uint32_t(sizes.size()))];
      SCOPED_TRACE(type.name() + ", subgroup size " + std::to_string(size));
      RobustCase c(device, random, type, size);
      run_near_the_end(random, c);
      if (testing::Test::HasFailure())
         return;
   }
}

/// A component is in bounds if its own bytes are, even if the range ends within an element of the
/// array.
TEST(CmatRobust, ThroughWiderElements)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   if (may_wrap(device))
      return skip_case("a driver's own matrices may take whole elements");
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      RobustCase c(device, random, type, subgroup_size,
                   {.element_bytes = oracle::draw(random, 2) ? 16u : 4u});
      run_near_the_end(random, c);
   });
}

TEST(CmatRobust, Tensors)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   if (!device.matrix2_features.cooperativeMatrixTensorAddressing)
      return skip_case("no cooperativeMatrixTensorAddressing");
   oracle::Random random = test_random();
   // Above lavapipe, each invocation holds all of a matrix A.
   const auto fits = [&](const MatrixType &type, uint32_t) {
      return compiles_each_component(device, type.rows * type.cols, 64);
   };
   for_each_matrix_type(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      RobustCase c(device, random, type, subgroup_size, {.tensor = true});
      run_near_the_end(random, c);
   });
}

/// Vulkan guarantees bounds for accesses by descriptors, but a decode function has a pointer. Weft
/// checks the descriptor's bounds all the same.
TEST(CmatRobust, DecodeFunctions)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   if (!device.matrix2_features.cooperativeMatrixBlockLoads)
      return skip_case("no cooperativeMatrixBlockLoads");
   if (is_of_another_driver(device, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME))
      return skip_case("a driver's own decode functions may read outside");
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      if (type.component_bytes() > 4)
         return skip_case("blocks that a layer may read word by word");
      RobustCase c(device, random, type, subgroup_size, {.tensor = true, .decode = true});
      run_near_the_end(random, c);
   });
}

/// Matrices of a workgroup, of sizes that no tile has, loaded as matrices or as tensors.
TEST(CmatRobust, Workgroups)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   if (!device.matrix2_features.cooperativeMatrixWorkgroupScope)
      return skip_case("no cooperativeMatrixWorkgroupScope");
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   for (const VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p : device.flexible_properties) {
      const ComponentType component = ComponentType(p.AType);
      if (p.scope != VK_SCOPE_WORKGROUP_KHR || !oracle::has_format(component) ||
          !missing_matrix_feature(device, component).empty() || !selected(random, 16))
         continue;
      const auto size = [&](uint32_t granularity) {
         return granularity * (1 + oracle::draw(random, 64 / granularity));
      };
      const MatrixType type = {component, size(p.MGranularity), size(p.KGranularity), Use::a};
      SCOPED_TRACE(type.name() + " of a workgroup of " + std::to_string(p.workgroupInvocations));
      RobustCase c(device, random, type, sizes[oracle::draw(random, uint32_t(sizes.size()))],
                   {.tensor = device.matrix2_features.cooperativeMatrixTensorAddressing &&
                              oracle::draw(random, 2) == 1,
                    .workgroup = p.workgroupInvocations});
      run_near_the_end(random, c);
      if (testing::Test::HasFailure())
         return;
   }
}

/// Tiles over the edge of a matrix whose size is no multiple of the tile's, as in real programs.
/// The buffer ends with the matrix, and elements beyond it are zero.
TEST(CmatRobust, GemmWithARaggedLastRowOfTiles)
{
   Device &device = robust_device();
   if (!has_robust_access(device))
      GTEST_SKIP() << "no cooperativeMatrixRobustBufferAccess";
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = 0;
   for (const MatrixOperation &op : matrix_operations(device)) {
      const uint32_t size = sizes[turn++ % sizes.size()];
      if (op.c != op.result ||
          !missing_features(device, {a_type(op), b_type(op), c_type(op)}).empty() ||
          !selected(random))
         continue;
      SCOPED_TRACE(operation_name(op) + ", subgroup size " + std::to_string(size));
      const uint32_t rows = op.m + op.m / 2 + 1; // two tiles, the second cut short
      const Matrix a = random_matrix(random, op.a, rows, op.k, oracle::Inputs::plain);
      const Matrix b = random_matrix(random, op.b, op.k, op.n, oracle::Inputs::plain);
      const Matrix c = random_matrix(random, op.c, rows, op.n, oracle::Inputs::plain);
      const std::string a_name = oracle::format(op.a).glsl, b_name = oracle::format(op.b).glsl,
                        c_name = oracle::format(op.c).glsl;
      const Words words = {
         {"SIZE", std::to_string(size)},
         {"BLOCKS", buffer_block(0, a_name, "a_data") + buffer_block(1, b_name, "b_data") +
                       buffer_block(2, c_name, "c_data") + buffer_block(3, c_name, "d_data")},
         {"A", a_type(op).glsl()},
         {"B", b_type(op).glsl()},
         {"C", c_type(op).glsl()},
         {"M", std::to_string(op.m)},
         {"N", std::to_string(op.n)},
         {"K", std::to_string(op.k)},
         {"OPERANDS", op.saturating ? ", gl_MatrixOperandsSaturatingAccumulation" : ""},
      };
      const std::string source = std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" +
                                 expand(R"(
layout(local_size_x = $SIZE) in;
$BLOCKS
void main()
{
   $A a;
   $B b;
   $C c;
   const uint row = gl_WorkGroupID.x * $M;
   coopMatLoad(a, a_data.data, row * $K, $K, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(b, b_data.data, 0, $N, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(c, c_data.data, row * $N, $N, gl_CooperativeMatrixLayoutRowMajor);
   c = coopMatMulAdd(a, b, c$OPERANDS);
   coopMatStore(c, d_data.data, row * $N, $N, gl_CooperativeMatrixLayoutRowMajor);
}
)",
                                        words);
      Pipeline pipeline(
         device, compile_glsl(source),
         {.bindings = {1, 1, 1, 1}, .push_bytes = 0, .subgroup_size = size, .spec_constants = {}});
      // A's and C's buffers go on with poison behind the range, D's with a guard.
      constexpr size_t behind = 1024;
      Buffer a_buffer(device, a.data.size() + behind), b_buffer(device, b.data.size()),
         c_buffer(device, c.data.size() + behind), d_buffer(device, c.data.size() + behind);
      for (Buffer *buffer : {&a_buffer, &b_buffer, &c_buffer, &d_buffer})
         oracle::fill_poison(buffer->bytes());
      std::vector<std::byte> before(d_buffer.bytes().begin(), d_buffer.bytes().end());
      memcpy(a_buffer.bytes().data(), a.data.data(), a.data.size());
      memcpy(b_buffer.bytes().data(), b.data.data(), b.data.size());
      memcpy(c_buffer.bytes().data(), c.data.data(), c.data.size());
      pipeline.dispatch({{a_buffer, 0, a.data.size()},
                         {b_buffer, 0, b.data.size()},
                         {c_buffer, 0, c.data.size()},
                         {d_buffer, 0, c.data.size()}},
                        {2, 1, 1});
      count_case();
      const MatrixType d_type = {op.result, rows, op.n, Use::accumulator};
      const oracle::Expectation expected =
         muladd(a, b, oracle::Expectation(c), op.saturating, muladd_rules(device, op.a, op.result));
      EXPECT_TRUE(stored_as_expected(expected, d_type, {false, 0, line_bytes(d_type, false)},
                                     d_buffer.bytes(), before));
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace weft::e2e
