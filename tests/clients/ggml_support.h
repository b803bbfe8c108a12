// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Clocks, errors, backends and weights' places of the programs that run ggml, here and in
/// bench/ggml. The programs are compiled against Debian's libggml.

#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <errno.h>
#include <sched.h>
#include <time.h>

#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

/// The bound for results: two and a half times the largest error seen, which a whole layer in q4_K
/// has. ggml's own tests allow 5e-4 for products.
constexpr double max_nmse = 2e-4;

using Clock = std::chrono::steady_clock;
inline const Clock::time_point process_start = Clock::now();

inline double seconds_since(Clock::time_point start)
{
   return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The CPU time of all threads of the process.
inline double cpu_seconds()
{
   timespec time;
   clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
   return time.tv_sec + 1e-9 * time.tv_nsec;
}

[[noreturn]] inline void die(const std::string &message)
{
   fprintf(stderr, "%s: %s\n", program_invocation_short_name, message.c_str());
   exit(2);
}

/// The squared error normalised by the reference's squares, as ggml's own tests measure it; NaN
/// when either side holds one.
inline double normalised_error(const std::vector<float> &got, const std::vector<float> &expected)
{
   double error = 0, norm = 0;
   for (size_t i = 0; i < got.size(); i++) {
      const double d = double(got[i]) - expected[i];
      error += d * d;
      norm += double(expected[i]) * expected[i];
   }
   return error / norm;
}

inline ggml_type type_named(const std::string &name)
{
   for (int type = 0; type < GGML_TYPE_COUNT; type++)
      if (ggml_type_name(ggml_type(type)) && name == ggml_type_name(ggml_type(type)))
         return ggml_type(type);
   die("unknown type " + name);
}

/// Uniform in the range that keeps the variance of a matrix's factor; around 1 for a vector. All
/// CPUs work on the rows, each row from a seed of its own.
inline std::vector<uint8_t> random_weights(const ggml_tensor *t, uint32_t seed)
{
   std::vector<uint8_t> bytes(ggml_nbytes(t));
   ggml_quantize_init(t->type);
   std::atomic<int64_t> next = 0;
   const auto work = [&] {
      std::vector<float> row(t->ne[0]);
      for (int64_t r; (r = next++) < t->ne[1];) {
         std::mt19937 random(seed + uint32_t(r));
         const bool is_vector = t->ne[1] == 1;
         const float range = is_vector ? 0.5f : std::sqrt(3.0f / t->ne[0]);
         for (float &value : row)
            value = float(is_vector) + int32_t(random()) * 0x1p-31f * range;
         ggml_quantize_chunk(t->type, row.data(), bytes.data() + r * t->nb[1], 0, 1, t->ne[0],
                             nullptr);
      }
   };
   std::vector<std::jthread> threads(std::thread::hardware_concurrency());
   for (std::jthread &thread : threads)
      thread = std::jthread(work);
   threads.clear();
   return bytes;
}

/// ggml's lines about the matrix path of each Vulkan device.
inline std::string start_up_line;

/// Loads ggml's backends. Afterwards ggml prints errors only, or all messages with
/// GGML_OPS_VERBOSE.
inline void load_backends()
{
   ggml_log_set(
      [](ggml_log_level level, const char *text, void *) {
         if (strstr(text, "matrix cores:"))
            start_up_line += text;
         else if (level == GGML_LOG_LEVEL_ERROR || getenv("GGML_OPS_VERBOSE"))
            fputs(text, stderr);
      },
      nullptr);
   ggml_backend_load_all();
}

template <typename Function>
Function backend_function(ggml_backend_dev_t device, const char *name)
{
   return reinterpret_cast<Function>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), name));
}

/// "Vulkan0" or "CPU", whose threads are then as many as the process has CPUs.
inline ggml_backend_ptr open_backend(const std::string &name)
{
   ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str());
   if (!device)
      die("ggml has no device " + name + " (for Vulkan0: is GGML_VK_VISIBLE_DEVICES=0 set?)");
   ggml_backend_ptr backend(ggml_backend_dev_init(device, nullptr));
   if (!backend)
      die("ggml cannot open " + name);
   if (const auto set_threads =
          backend_function<ggml_backend_set_n_threads_t>(device, "ggml_backend_set_n_threads")) {
      cpu_set_t cpus;
      sched_getaffinity(0, sizeof(cpus), &cpus);
      set_threads(backend.get(), CPU_COUNT(&cpus));
   }
   return backend;
}

/// The buffer type in which llama.cpp stores a matrix of weights: the device's first one in which
/// the matrix can be multiplied. The CPU has some in which weights are repacked for its kernels.
inline ggml_backend_buffer_type_t weight_buffer_type(ggml_backend_dev_t device,
                                                     const ggml_tensor *weight)
{
   const auto extra = backend_function<ggml_backend_dev_get_extra_bufts_t>(
      device, "ggml_backend_dev_get_extra_bufts");
   ggml_backend_buffer_type_t *types = extra ? extra(device) : nullptr;
   for (; types && *types; types++) {
      const ggml_context_ptr context(ggml_init({ggml_tensor_overhead() * 3, nullptr, true}));
      const ggml_backend_buffer_ptr nothing(ggml_backend_buft_alloc_buffer(*types, 0));
      ggml_tensor *copy = ggml_dup_tensor(context.get(), weight);
      copy->buffer = nothing.get();
      ggml_tensor *input = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, copy->ne[0], 512);
      if (ggml_backend_dev_supports_op(device, ggml_mul_mat(context.get(), copy, input)))
         return *types;
   }
   return ggml_backend_dev_buffer_type(device);
}
