// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Times MUL_MAT on one of ggml's backends, with weights where llama.cpp would put them.
/// `ci/bench ggml` compiles it against Debian's libggml and chooses the Vulkan driver.
///
///    mul_mat first BACKEND TYPE M N K   seconds from the start of the process to the first result
///    mul_mat serve BACKEND TYPE M N K   "ready", then for every line on stdin one product and its
///                                       seconds, wall and CPU; at the end of the input the error
///
/// Weights are k×m of TYPE, activations k×n in f32, the result is m×n in f32. The error is relative
/// to ggml's CPU backend with plain weights.

#include "tests/clients/ggml_support.h"

#include <iostream>

namespace {

struct Operands {
   ggml_type type;
   int64_t m, n, k;
   std::vector<uint8_t> weights;
   std::vector<float> inputs;
};

Operands random_operands(ggml_type type, int64_t m, int64_t n, int64_t k)
{
   std::mt19937 random(std::random_device{}());
   const ggml_context_ptr context(ggml_init({ggml_tensor_overhead(), nullptr, true}));
   Operands o{type, m, n, k, {}, std::vector<float>(n * k)};
   o.weights = random_weights(ggml_new_tensor_2d(context.get(), type, k, m), random());
   for (float &value : o.inputs)
      value = int32_t(random()) * 0x1p-31f;
   return o;
}

/// A product whose tensors are on a backend.
class Product {
public:
   Product(const Operands &o, ggml_backend_t backend, bool plain_weights = false)
       : backend_(backend), weight_context_(empty_context()), context_(empty_context())
   {
      ggml_tensor *weights = ggml_new_tensor_2d(weight_context_.get(), o.type, o.k, o.m);
      ggml_tensor *inputs = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, o.k, o.n);
      result_ = ggml_mul_mat(context_.get(), weights, inputs);
      graph_ = ggml_new_graph(context_.get());
      ggml_build_forward_expand(graph_, result_);
      ggml_backend_dev_t device = ggml_backend_get_device(backend);
      weight_buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(
         weight_context_.get(), plain_weights ? ggml_backend_dev_buffer_type(device)
                                              : weight_buffer_type(device, weights)));
      buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend));
      if (!weight_buffer_ || !buffer_)
         die("cannot allocate the operands");
      ggml_backend_tensor_set(weights, o.weights.data(), 0, o.weights.size());
      ggml_backend_tensor_set(inputs, o.inputs.data(), 0, ggml_nbytes(inputs));
      // An element that is not written must not pass as correct.
      const std::vector<float> nan(ggml_nelements(result_), NAN);
      ggml_backend_tensor_set(result_, nan.data(), 0, ggml_nbytes(result_));
   }

   void compute()
   {
      if (ggml_backend_graph_compute(backend_, graph_) != GGML_STATUS_SUCCESS)
         die("the graph could not be computed");
   }

   std::vector<float> result() const
   {
      std::vector<float> values(ggml_nelements(result_));
      ggml_backend_tensor_get(result_, values.data(), 0, ggml_nbytes(result_));
      return values;
   }

private:
   static ggml_context_ptr empty_context()
   {
      return ggml_context_ptr(
         ggml_init({ggml_tensor_overhead() * 4 + ggml_graph_overhead(), nullptr, true}));
   }

   ggml_backend_t backend_;
   ggml_context_ptr weight_context_, context_;
   ggml_backend_buffer_ptr weight_buffer_, buffer_;
   ggml_tensor *result_ = nullptr;
   ggml_cgraph *graph_ = nullptr;
};

double error_of(const std::vector<float> &result, const Operands &operands)
{
   const ggml_backend_ptr cpu = open_backend("CPU");
   Product expected(operands, cpu.get(), /*plain_weights=*/true);
   expected.compute();
   return normalised_error(result, expected.result());
}

int first(ggml_backend_t backend, const Operands &operands)
{
   Product product(operands, backend);
   product.compute();
   const std::vector<float> result = product.result();
   const double seconds = seconds_since(process_start);
   const double nmse = error_of(result, operands);
   printf("%f %g\n", seconds, nmse);
   return nmse < max_nmse ? 0 : 1;
}

int serve(ggml_backend_t backend, const Operands &operands)
{
   // Compiles the pipelines: the same shaders with a fraction of the work.
   Product(random_operands(operands.type, 256, operands.n, 512), backend).compute();

   Product product(operands, backend);
   puts("ready");
   fflush(stdout);
   for (std::string line; std::getline(std::cin, line);) {
      const auto start = Clock::now();
      const double cpu_start = cpu_seconds();
      product.compute();
      printf("%f %f\n", seconds_since(start), cpu_seconds() - cpu_start);
      fflush(stdout);
   }
   printf("%g\n", error_of(product.result(), operands));
   return 0;
}

} // namespace

int main(int argc, char **argv)
{
   const std::string mode = argc == 7 ? argv[1] : "";
   if (mode != "first" && mode != "serve")
      die("usage: mul_mat first|serve BACKEND TYPE M N K");
   load_backends();
   const ggml_backend_ptr backend = open_backend(argv[2]);
   const Operands operands =
      random_operands(type_named(argv[3]), atoll(argv[4]), atoll(argv[5]), atoll(argv[6]));
   return mode == "first" ? first(backend.get(), operands) : serve(backend.get(), operands);
}
