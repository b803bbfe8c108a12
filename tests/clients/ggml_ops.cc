// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Runs operations of llama.cpp's ggml on its Vulkan backend (device Vulkan0) and on its CPU backend
// with the same fresh random inputs, and compares. `ci/clients ggml` compiles it against Debian's
// libggml and chooses the Vulkan driver; nothing here knows which driver that is.
//
//    ggml_ops check [SEED]        every operation of all_cases(), one row each; with
//    GGML_OPS_ONLY=TEXT
//                                 in the environment only the rows that contain TEXT
//
// MUL_MAT follows ggml's convention: weights k×m of TYPE, activations k×n in f32, result m×n in
// f32.

#include "tests/clients/ggml_support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

namespace {

// Of MUL_MAT_ID.
constexpr int32_t experts = 7;

struct Case {
   std::string op;
   std::string types;
   std::string shape;
   // Adds leaf tensors and the operation to a context without storage; returns the result.
   std::function<ggml_tensor *(ggml_context *)> build;
};

using Inputs = std::vector<std::vector<uint8_t>>;

// One case laid out on one backend: leaves and result allocated, graph ready to compute.
class Instance {
public:
   Instance(const Case &c, ggml_backend_t backend)
       : backend_(backend),
         context_(ggml_init({ggml_tensor_overhead() * 64 + ggml_graph_overhead(), nullptr, true}),
                  ggml_free),
         buffer_(nullptr, ggml_backend_buffer_free)
   {
      result_ = c.build(context_.get());
      graph_ = ggml_new_graph(context_.get());
      ggml_build_forward_expand(graph_, result_);
      buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend));
      if (!buffer_)
         die("cannot allocate the tensors of " + c.op + " on " + ggml_backend_name(backend));
   }

   bool supported() const
   {
      for (int i = 0; i < ggml_graph_n_nodes(graph_); i++)
         if (!ggml_backend_supports_op(backend_, ggml_graph_node(graph_, i)))
            return false;
      return true;
   }

   std::vector<ggml_tensor *> leaves() const
   {
      std::vector<ggml_tensor *> found;
      for (ggml_tensor *t = ggml_get_first_tensor(context_.get()); t;
           t = ggml_get_next_tensor(context_.get(), t))
         if (t->op == GGML_OP_NONE && !t->view_src)
            found.push_back(t);
      return found;
   }

   void set(const Inputs &inputs)
   {
      auto tensors = leaves();
      for (size_t i = 0; i < tensors.size(); i++)
         ggml_backend_tensor_set(tensors[i], inputs[i].data(), 0, inputs[i].size());
   }

   // Fills the result with NaN, and checks that, so that an element which the backend does not
   // write cannot pass as correct.
   void poison()
   {
      std::vector<float> nan(ggml_nelements(result_), NAN);
      ggml_backend_tensor_set(result_, nan.data(), 0, ggml_nbytes(result_));
      for (float value : result())
         if (!std::isnan(value))
            die("the result could not be poisoned");
   }

   bool compute() { return ggml_backend_graph_compute(backend_, graph_) == GGML_STATUS_SUCCESS; }

   std::vector<float> result() const
   {
      std::vector<float> values(ggml_nelements(result_));
      ggml_backend_tensor_get(result_, values.data(), 0, ggml_nbytes(result_));
      return values;
   }

   std::array<int64_t, 4> result_shape() const { return std::to_array(result_->ne); }

private:
   ggml_backend_t backend_;
   std::unique_ptr<ggml_context, decltype(&ggml_free)> context_;
   std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)> buffer_;
   ggml_tensor *result_ = nullptr;
   ggml_cgraph *graph_ = nullptr;
};

// The tensor's values by its type and name: positions count up from a random start, and a mask
// hides about a third of the keys but never a row's first. A weight is uniform in the range that
// keeps the variance of its factor, and everything else is uniform in [-1, 1].
std::vector<uint8_t> random_values(const ggml_tensor *t, std::mt19937 &random)
{
   std::vector<uint8_t> bytes(ggml_nbytes(t));
   const int64_t count = ggml_nelements(t);
   if (t->type == GGML_TYPE_I32) {
      auto *values = reinterpret_cast<int32_t *>(bytes.data());
      const int32_t first = random() % 1000;
      const bool is_choice = !strcmp(t->name, "experts");
      for (int64_t i = 0; i < count; i++)
         values[i] = is_choice ? (first + i * 3) % experts : first + i;
      return bytes;
   }

   const bool is_mask = !strcmp(t->name, "mask");
   const float range = strcmp(t->name, "weight") ? 1.0f : std::sqrt(3.0f / t->ne[0]);
   std::vector<float> values(count);
   for (int64_t i = 0; i < count; i++) {
      values[i] = int32_t(random()) * 0x1p-31f * range;
      if (is_mask && i % t->ne[0] != 0 && random() % 3 == 0)
         values[i] = -INFINITY;
   }
   // Types of two bits and less need the importance of each column: all are equal here.
   const std::vector<float> importance(t->ne[0], 1.0f);
   ggml_quantize_chunk(t->type, values.data(), bytes.data(), 0, count / t->ne[0], t->ne[0],
                       importance.data());
   return bytes;
}

Inputs random_inputs(const Instance &instance, std::mt19937 &random)
{
   Inputs inputs;
   for (ggml_tensor *t : instance.leaves())
      inputs.push_back(random_values(t, random));
   return inputs;
}

// A description of a wrong result: the number of elements that are far off or NaN, and the first
// one.
std::string describe_difference(const std::vector<float> &got, const std::vector<float> &expected,
                                const Instance &instance)
{
   double largest = 0;
   for (float value : expected)
      largest = std::max(largest, double(std::abs(value)));
   size_t count = 0, first = 0;
   for (size_t i = got.size(); i-- > 0;) {
      if (!(std::abs(got[i] - expected[i]) <= 0.01 * largest)) {
         count++;
         first = i;
      }
   }
   const auto shape = instance.result_shape();
   char text[200];
   snprintf(text, sizeof(text), "%zu of %zu elements off, first (%zd, %zd, %zd): %g instead of %g",
            count, got.size(), first % shape[0], first / shape[0] % shape[1],
            first / shape[0] / shape[1], got[first], expected[first]);
   return text;
}

ggml_tensor *leaf(ggml_context *ctx, ggml_type type, std::vector<int64_t> shape,
                  const char *name = "")
{
   return ggml_set_name(ggml_new_tensor(ctx, type, shape.size(), shape.data()), name);
}

Case mul_mat(ggml_type type, int64_t m, int64_t n, int64_t k, int64_t batch = 1, int64_t repeat = 1)
{
   std::string shape =
      "m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k);
   if (batch * repeat > 1)
      shape += " batch=" + std::to_string(batch) + "x" + std::to_string(repeat);
   return {"MUL_MAT", std::string(ggml_type_name(type)) + "*f32", shape, [=](ggml_context *ctx) {
              return ggml_mul_mat(ctx, leaf(ctx, type, {k, m, batch}),
                                  leaf(ctx, GGML_TYPE_F32, {k, n, batch * repeat}));
           }};
}

// Each token's product is with the weights of two experts.
Case mul_mat_id(ggml_type type, int64_t m, int64_t tokens, int64_t k)
{
   const std::string shape = "m=" + std::to_string(m) + " tokens=" + std::to_string(tokens) +
                             " k=" + std::to_string(k) + " experts=2/" + std::to_string(experts);
   return {"MUL_MAT_ID", std::string(ggml_type_name(type)) + "*f32", shape, [=](ggml_context *ctx) {
              return ggml_mul_mat_id(ctx, leaf(ctx, type, {k, m, experts}),
                                     leaf(ctx, GGML_TYPE_F32, {k, 2, tokens}),
                                     leaf(ctx, GGML_TYPE_I32, {2, tokens}, "experts"));
           }};
}

// A 3x3 kernel over pictures whose sizes no tile divides.
Case conv_2d(ggml_type type, int64_t channels, int64_t results)
{
   const std::string shape = "37x29x" + std::to_string(channels) + "x2, 3x3x" +
                             std::to_string(channels) + "x" + std::to_string(results);
   return {"CONV_2D", std::string(ggml_type_name(type)) + "*f32", shape, [=](ggml_context *ctx) {
              return ggml_conv_2d_direct(ctx, leaf(ctx, type, {3, 3, channels, results}),
                                         leaf(ctx, GGML_TYPE_F32, {37, 29, channels, 2}),
                                         /*s0=*/1, /*s1=*/2, /*p0=*/1, /*p1=*/0, /*d0=*/1,
                                         /*d1=*/1);
           }};
}

Case soft_max(bool masked)
{
   return {"SOFT_MAX", masked ? "f32 mask f32" : "f32", "77x33x4", [=](ggml_context *ctx) {
              ggml_tensor *x = leaf(ctx, GGML_TYPE_F32, {77, 33, 4});
              ggml_tensor *mask = masked ? leaf(ctx, GGML_TYPE_F32, {77, 33}, "mask") : nullptr;
              return ggml_soft_max_ext(ctx, x, mask, 0.125f, 0.0f);
           }};
}

Case rope(int mode, const char *name)
{
   return {"ROPE", "f32", std::string("128x8x19 ") + name, [=](ggml_context *ctx) {
              return ggml_rope_ext(ctx, leaf(ctx, GGML_TYPE_F32, {128, 8, 19}),
                                   leaf(ctx, GGML_TYPE_I32, {19}), nullptr, 128, mode, 4096,
                                   10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
           }};
}

// Attention of `tokens` queries over `keys` keys; two query heads share one key head.
Case flash_attention(int64_t head, int64_t tokens, int64_t keys, ggml_type type = GGML_TYPE_F16)
{
   const std::string shape = "head=" + std::to_string(head) + " tokens=" + std::to_string(tokens) +
                             " keys=" + std::to_string(keys) + " heads=4/2";
   const std::string types = std::string("f32 kv ") + ggml_type_name(type);
   return {"FLASH_ATTN_EXT", types, shape, [=](ggml_context *ctx) {
              ggml_tensor *q = leaf(ctx, GGML_TYPE_F32, {head, tokens, 4});
              ggml_tensor *k = leaf(ctx, type, {head, keys, 2});
              ggml_tensor *v = leaf(ctx, type, {head, keys, 2});
              ggml_tensor *mask = leaf(ctx, GGML_TYPE_F16, {keys, tokens}, "mask");
              return ggml_flash_attn_ext(ctx, q, k, v, mask, 1.0f / std::sqrt(float(head)), 0, 0);
           }};
}

// A whole transformer layer as llama.cpp builds it, so that results of one dispatch feed the next.
Case layer(ggml_type type, int64_t tokens)
{
   constexpr int64_t width = 256, head = 64, heads = 4, kv_heads = 2, hidden = 512;
   const std::string shape = "width=256 heads=4/2 tokens=" + std::to_string(tokens);
   return {
      "LAYER", std::string(ggml_type_name(type)) + "*f32", shape, [=](ggml_context *ctx) {
         const auto normalise = [&](ggml_tensor *x) {
            return ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-6f), leaf(ctx, GGML_TYPE_F32, {width}));
         };
         const auto project = [&](ggml_tensor *x, int64_t columns) {
            return ggml_mul_mat(ctx, leaf(ctx, type, {x->ne[0], columns}, "weight"), x);
         };
         ggml_tensor *positions = leaf(ctx, GGML_TYPE_I32, {tokens});
         const auto rotate = [&](ggml_tensor *x) {
            return ggml_rope_ext(ctx, x, positions, nullptr, head, GGML_ROPE_TYPE_NEOX, 4096,
                                 10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
         };
         // head × heads × tokens → head × tokens × heads
         const auto by_head = [&](ggml_tensor *x) { return ggml_permute(ctx, x, 0, 2, 1, 3); };

         ggml_tensor *x = leaf(ctx, GGML_TYPE_F32, {width, tokens});
         ggml_tensor *h = normalise(x);
         ggml_tensor *q = ggml_reshape_3d(ctx, project(h, width), head, heads, tokens);
         ggml_tensor *k = ggml_reshape_3d(ctx, project(h, head * kv_heads), head, kv_heads, tokens);
         ggml_tensor *v = ggml_reshape_3d(ctx, project(h, head * kv_heads), head, kv_heads, tokens);
         k = ggml_cast(ctx, by_head(rotate(k)), GGML_TYPE_F16);
         v = ggml_cast(ctx, by_head(v), GGML_TYPE_F16);
         ggml_tensor *mask = leaf(ctx, GGML_TYPE_F16, {tokens, tokens}, "mask");
         ggml_tensor *attention =
            ggml_flash_attn_ext(ctx, by_head(rotate(q)), k, v, mask, 0.125f, 0, 0);
         attention = ggml_reshape_2d(ctx, attention, width, tokens);
         x = ggml_add(ctx, x, project(attention, width));
         h = normalise(x);
         h = ggml_mul(ctx, ggml_silu(ctx, project(h, hidden)), project(h, hidden));
         return ggml_add(ctx, x, project(h, width));
      }};
}

// All that ggml's Vulkan backend multiplies on a device with storage of 8 and 16 bits.
constexpr ggml_type weight_types[] = {
   GGML_TYPE_F32,     GGML_TYPE_F16,    GGML_TYPE_BF16,  GGML_TYPE_Q4_0,    GGML_TYPE_Q4_1,
   GGML_TYPE_Q5_0,    GGML_TYPE_Q5_1,   GGML_TYPE_Q8_0,  GGML_TYPE_Q2_K,    GGML_TYPE_Q3_K,
   GGML_TYPE_Q4_K,    GGML_TYPE_Q5_K,   GGML_TYPE_Q6_K,  GGML_TYPE_IQ1_S,   GGML_TYPE_IQ1_M,
   GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,
   GGML_TYPE_IQ4_NL,  GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4};

std::vector<Case> all_cases()
{
   std::vector<Case> cases;
   for (ggml_type type : weight_types) {
      cases.push_back(mul_mat(type, 128, 96, 256));
      cases.push_back(mul_mat(type, 24, 80, 256, 2, 3));
      // Rows of a quantised type are whole blocks; elsewhere k is odd as well.
      cases.push_back(mul_mat(type, 77, 45, ggml_is_quantized(type) ? 768 : 131));
      // One token at a time takes ggml's matrix-vector shaders.
      cases.push_back(mul_mat(type, 77, 1, 512));
      cases.push_back(mul_mat_id(type, 48, 40, 256));
   }
   for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
      cases.push_back(conv_2d(type, 19, 45));
      cases.push_back(conv_2d(type, 32, 128));
   }
   cases.push_back(soft_max(false));
   cases.push_back(soft_max(true));
   cases.push_back({"RMS_NORM", "f32", "200x33x2", [](ggml_context *ctx) {
                       return ggml_rms_norm(ctx, leaf(ctx, GGML_TYPE_F32, {200, 33, 2}), 1e-6f);
                    }});
   cases.push_back(rope(GGML_ROPE_TYPE_NORMAL, "normal"));
   cases.push_back(rope(GGML_ROPE_TYPE_NEOX, "neox"));
   cases.push_back({"ADD", "f32", "70x33x4 + 70x33x4", [](ggml_context *ctx) {
                       return ggml_add(ctx, leaf(ctx, GGML_TYPE_F32, {70, 33, 4}),
                                       leaf(ctx, GGML_TYPE_F32, {70, 33, 4}));
                    }});
   cases.push_back({"ADD", "f32", "70x33x4 + 70x1x2", [](ggml_context *ctx) {
                       return ggml_add(ctx, leaf(ctx, GGML_TYPE_F32, {70, 33, 4}),
                                       leaf(ctx, GGML_TYPE_F32, {70, 1, 2}));
                    }});
   cases.push_back(flash_attention(64, 33, 128));
   cases.push_back(flash_attention(128, 20, 96));
   cases.push_back(flash_attention(64, 1, 256));
   cases.push_back(flash_attention(64, 33, 128, GGML_TYPE_Q8_0));
   cases.push_back(flash_attention(128, 35, 160, GGML_TYPE_Q4_0));
   cases.push_back(layer(GGML_TYPE_F16, 48));
   cases.push_back(layer(GGML_TYPE_Q8_0, 48));
   cases.push_back(layer(GGML_TYPE_Q4_K, 1));
   return cases;
}

struct Backends {
   ggml_backend_ptr vulkan, cpu;
};

Backends open_backends()
{
   load_backends();
   return {open_backend("Vulkan0"), open_backend("CPU")};
}

bool check_start_up_line()
{
   const auto is_on = [](const char *path) {
      return !getenv((std::string("GGML_VK_DISABLE_") + path).c_str());
   };
   std::string expected = "matrix cores: none";
   if (is_on("COOPMAT2"))
      expected = is_on("COOPMAT2_DECODE_VECTOR") ? "matrix cores: NV_coopmat2v"
                                                 : "matrix cores: NV_coopmat2";
   else if (is_on("COOPMAT"))
      expected = "matrix cores: KHR_coopmat";
   printf("%s", start_up_line.c_str());
   const bool right = start_up_line.find(expected + "\n") != std::string::npos;
   if (!right)
      printf("FAIL: expected \"%s\" in ggml's start-up line\n", expected.c_str());
   return right;
}

// Runs one case on both backends and prints its row.
bool check_case(const Case &c, const Backends &backends, std::mt19937 &random)
{
   printf("%-15s %-13s %-36s ", c.op.c_str(), c.types.c_str(), c.shape.c_str());
   fflush(stdout);

   Instance vulkan(c, backends.vulkan.get()), cpu(c, backends.cpu.get());
   if (!vulkan.supported()) {
      printf("FAIL: the device does not support it\n");
      return false;
   }
   const Inputs inputs = random_inputs(cpu, random);
   for (Instance *instance : {&vulkan, &cpu}) {
      instance->set(inputs);
      instance->poison();
      if (!instance->compute()) {
         printf("FAIL: the graph could not be computed\n");
         return false;
      }
   }
   const std::vector<float> got = vulkan.result(), expected = cpu.result();
   const double nmse = normalised_error(got, expected);
   const bool pass = nmse < max_nmse;
   printf("nmse %.2e  %s\n", nmse, pass ? "pass" : "FAIL");
   if (!pass)
      printf("   %s\n", describe_difference(got, expected, vulkan).c_str());
   fflush(stdout);
   return pass;
}

int check(unsigned seed)
{
   const Backends backends = open_backends();
   bool right = check_start_up_line();
   printf("seed %u, bound on the normalised mean squared error %g\n", seed, max_nmse);
   std::mt19937 random(seed);
   int failed = 0, total = 0;
   const char *only = getenv("GGML_OPS_ONLY");
   for (const Case &c : all_cases()) {
      if (only && (c.op + " " + c.types + " " + c.shape).find(only) == std::string::npos)
         continue;
      total++;
      failed += !check_case(c, backends, random);
   }
   printf("%d of %d operations agree with ggml's CPU backend\n", total - failed, total);
   return right && total > 0 && failed == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
   const std::string mode = argc > 1 ? argv[1] : "";
   if (mode == "check")
      return check(argc > 2 ? strtoul(argv[2], nullptr, 0) : std::random_device{}());
   die("usage: ggml_ops check [SEED]");
}
