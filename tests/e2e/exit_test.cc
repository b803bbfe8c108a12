// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A process that exits during any work of driver and layer ends with its exit status. It does not
/// end by a signal and does not hang. Each way to end runs in processes of its own, WEFT_TEST_EXITS
/// of each (8).
///
///     weft_exit_e2e --end WAY      is one of them

#include "tests/e2e/cases.h"
#include "tests/e2e/cmat.h"
#include "tests/vulkan/time_limits.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weft::e2e {

namespace {

using namespace std::chrono_literals;

/// The exit status of a process; another status means that an earlier step failed.
constexpr int given_status = 42;

/// Never destroyed: the process ends with everything alive.
Device &new_device()
{
   return *new Device(false);
}

/// A shader with `steps` different steps, which takes the compiler some time.
std::vector<uint32_t> long_shader(const Device &device, uint32_t steps)
{
   std::string text = std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
layout(constant_id = 0) const uint turns = 1;
void main()
{
   uint x = source.data[gl_GlobalInvocationID.x];
   for (uint turn = 0; turn < turns; turn++) {
)";
   for (uint32_t i = 0; i < steps; i++)
      text += "      x = (x ^ (x >> " + std::to_string(1 + i % 15) + ")) * " +
              std::to_string(2654435761u + 2 * i) + "u + source.data[x % 64];\n";
   text += "   }\n   target.data[gl_GlobalInvocationID.x] = x;\n";
   const std::vector<MatrixOperation> operations = matrix_operations(device);
   if (!operations.empty())
      text += "   " + a_type(operations[0]).glsl() +
              " m;\n   coopMatLoad(m, source.data, 0, 64, 0);\n"
              "   coopMatStore(m, target.data, 4096, 64, 0);\n";
   return compile_glsl(text + "}\n");
}

const PipelineOptions two_buffers = {.bindings = {1, 1}};

/// A pipeline that is compiled while the process goes on. Never destroyed.
Pipeline &compiling(Device &device, const std::vector<uint32_t> &spirv,
                    const PipelineOptions &options = two_buffers)
{
   auto &pipeline = *new Pipeline(device, spirv, options);
   pipeline.begin_compilation();
   return pipeline;
}

/// Creates pipelines for ever.
void create_pipelines(Device &device, const std::vector<uint32_t> &spirv)
{
   for (uint32_t turns = 1;; turns++) {
      PipelineOptions options = two_buffers;
      options.spec_constants = {{0, turns}};
      try {
         compiling(device, spirv, options);
      } catch (const VulkanError &) {
         // The process is ending.
      }
   }
}

void wait_at_random()
{
   std::this_thread::sleep_for(std::chrono::microseconds(std::random_device()() % 100000));
}

void exit_during_compilation()
{
   Device &device = new_device();
   compiling(device, long_shader(device, 100));
   std::exit(given_status);
}

void exit_with_many_shaders_waiting()
{
   Device &device = new_device();
   for (uint32_t steps = 50; steps < 60; steps++)
      compiling(device, long_shader(device, steps));
   std::exit(given_status);
}

void exit_after_refusal()
{
   Device &device = new_device();
   std::vector<uint32_t> spirv = long_shader(device, 10);
   spirv.resize(spirv.size() - 5);
   try {
      Pipeline(device, spirv, two_buffers);
   } catch (const VulkanError &) {
      std::exit(given_status);
   }
}

void exit_while_another_thread_compiles()
{
   Device &device = new_device();
   const std::vector<uint32_t> spirv = long_shader(device, 100);
   std::thread([&] { create_pipelines(device, spirv); }).detach();
   wait_at_random();
   std::exit(given_status);
}

void exit_of_another_thread()
{
   Device &device = new_device();
   const std::vector<uint32_t> spirv = long_shader(device, 100);
   std::thread([] {
      wait_at_random();
      std::exit(given_status);
   }).detach();
   create_pipelines(device, spirv);
}

void quick_exit_during_compilation()
{
   Device &device = new_device();
   compiling(device, long_shader(device, 100));
   std::quick_exit(given_status);
}

void immediate_exit_during_compilation()
{
   Device &device = new_device();
   compiling(device, long_shader(device, 100));
   _exit(given_status);
}

/// Runs out of address space on the queue's thread.
void exit_after_the_device_is_lost()
{
   setenv("WEFT_THREADS", "1", 1); // shaders are compiled one after another
   Device &device = new_device();
   const std::string text = std::string(glsl_header) + R"(
layout(local_size_x = 1024) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
void main()
{
   uint many[2048];
   for (uint i = 0; i < 2048; i++)
      many[i] = source.data[i];
   barrier();
   target.data[gl_GlobalInvocationID.x] = many[source.data[gl_GlobalInvocationID.x] % 2048];
}
)";
   Pipeline &pipeline = compiling(device, compile_glsl(text));
   auto &source = *new Buffer(device, 65536), &target = *new Buffer(device, 65536);
   // Loads the code for pipelines now, because the next open may fail.
   auto &other = *new Pipeline(device, long_shader(device, 10), two_buffers);
   other.dispatch({source, target});
   const rlimit limit = {1, 1};
   if (setrlimit(RLIMIT_AS, &limit))
      _exit(3);
   try {
      pipeline.dispatch({source, target});
   } catch (const VulkanError &error) {
      std::exit(error.result == VK_ERROR_DEVICE_LOST ? given_status : 4);
   } catch (const std::exception &) {
      _exit(5);
   }
   _exit(6); // it ran
}

void exit_during_a_dispatch()
{
   Device &device = new_device();
   PipelineOptions options = two_buffers;
   options.spec_constants = {{0, 1000000}};
   auto &pipeline = *new Pipeline(device, long_shader(device, 20), options);
   auto &source = *new Buffer(device, 1 << 20), &target = *new Buffer(device, 1 << 20);
   std::thread([&] {
      try {
         pipeline.dispatch({source, target}, {1000, 1, 1});
      } catch (const VulkanError &) {
         // The process is ending, and no code is generated any more.
      }
   }).detach();
   wait_at_random();
   std::exit(given_status);
}

/// A shader with an endless loop runs until the process ends.  Waits end in time without it, and
/// another device does its work.
void exit_during_an_endless_dispatch()
{
   Device &device = new_device(), &other = new_device();
   const std::string text = std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
void main()
{
   atomicAdd(target.data[0], 1);
   while (atomicAdd(source.data[0], 0) == 0)
      ;
   atomicAdd(target.data[1], 1);
}
)";
   const std::vector<uint32_t> spirv = compile_glsl(text);
   auto &pipeline = *new Pipeline(device, spirv, two_buffers);
   auto &source = *new Buffer(device, 1024), &target = *new Buffer(device, 1024);
   memset(source.bytes().data(), 0, source.bytes().size());
   memset(target.bytes().data(), 0, target.bytes().size());
   std::thread([&] {
      try {
         pipeline.dispatch({source, target});
         _exit(3); // it ended
      } catch (const VulkanError &) {
         _exit(4); // it was given up
      }
   }).detach();
   const auto at = [](Buffer &buffer, size_t i) {
      return std::atomic_ref(buffer.as<uint32_t>()[i]).load();
   };
   while (at(target, 0) == 0)
      std::this_thread::sleep_for(1ms);

   const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   VkFence fence;
   const VkSubmitInfo nothing = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
   if (vkCreateFence(device.device, &fence_info, nullptr, &fence) ||
       vkQueueSubmit(device.queue, 1, &nothing, fence))
      _exit(5);
   if (vkWaitForFences(device.device, 1, &fence, VK_TRUE, 20'000'000) != VK_TIMEOUT ||
       vkGetFenceStatus(device.device, fence) != VK_NOT_READY)
      _exit(6);

   auto &second = *new Pipeline(other, spirv, two_buffers);
   auto &second_source = *new Buffer(other, 1024), &second_target = *new Buffer(other, 1024);
   memset(second_target.bytes().data(), 0, second_target.bytes().size());
   second_source.as<uint32_t>()[0] = 1;
   second.dispatch({second_source, second_target});
   if (at(second_target, 1) != 64 || at(target, 1) != 0)
      _exit(7);
   std::exit(given_status);
}

/// A child of fork() lacks its parent's threads and does not wait for them.
void exit_of_a_child()
{
   Device &device = new_device();
   compiling(device, long_shader(device, 100));
   const pid_t child = fork();
   if (child == 0) {
      alarm(vulkan::hang_limit / 2);
      std::exit(given_status);
   }
   int status = 0;
   waitpid(child, &status, 0);
   std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

/// Everything is destroyed while code is generated: the loader then removes driver and layer.
void unload_during_compilation()
{
   for (int i = 0; i < 3; i++) {
      Device device(false);
      const Pipeline pipeline(device, long_shader(device, 100 + i), two_buffers);
      pipeline.begin_compilation();
   }
   std::exit(given_status);
}

/// A program may destroy its device in the destructor of a global object that is older than the
/// driver's objects.
Device *device_to_destroy = nullptr;
Pipeline *pipeline_to_destroy = nullptr;
const std::vector<uint32_t> *spirv_to_compile = nullptr;
void clean_up()
{
   try {
      const Pipeline late(*device_to_destroy, *spirv_to_compile, two_buffers);
      late.begin_compilation();
   } catch (const VulkanError &) {
      // A pipeline may fail at this point.
   }
   delete pipeline_to_destroy;
   delete device_to_destroy;
}

void destroy_at_exit()
{
   std::atexit(clean_up);
   device_to_destroy = &new_device();
   pipeline_to_destroy = &compiling(*device_to_destroy, long_shader(*device_to_destroy, 100));
   spirv_to_compile = new std::vector<uint32_t>(long_shader(*device_to_destroy, 20));
   std::exit(given_status);
}

struct Way {
   const char *name;
   void (*end)();
};
constexpr Way ways[] = {
   {"during_compilation", exit_during_compilation},
   {"with_many_shaders_waiting", exit_with_many_shaders_waiting},
   {"after_refusal", exit_after_refusal},
   {"while_another_thread_compiles", exit_while_another_thread_compiles},
   {"of_another_thread", exit_of_another_thread},
   {"quickly", quick_exit_during_compilation},
   {"immediately", immediate_exit_during_compilation},
   {"after_the_device_is_lost", exit_after_the_device_is_lost},
   {"during_a_dispatch", exit_during_a_dispatch},
   {"during_an_endless_dispatch", exit_during_an_endless_dispatch},
   {"of_a_child", exit_of_a_child},
   {"by_unloading", unload_during_compilation},
   {"and_destroys", destroy_at_exit},
};

class Ends : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(ways, Ends, testing::ValuesIn(ways),
                         [](const auto &info) { return std::string(info.param.name); });

/// The status of waitpid(2) of a new process.
int end_of_process(const char *way)
{
   std::string program = "/proc/self/exe", option = "--end", name = way;
   char *arguments[] = {program.data(), option.data(), name.data(), nullptr};
   pid_t child;
   int status = -1;
   if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0)
      waitpid(child, &status, 0);
   return status;
}

TEST_P(Ends, WithItsStatus)
{
   const char *variable = getenv("WEFT_TEST_EXITS");
   const uint32_t count = variable ? atoi(variable) : 4;
   std::atomic<uint32_t> next = 0, wrong = 0;
   std::vector<std::thread> threads;
   for (uint32_t i = 0; i < std::max(2u, std::thread::hardware_concurrency()); i++) {
      threads.emplace_back([&] {
         while (next++ < count) {
            const int status = end_of_process(GetParam().name);
            if (WIFEXITED(status) && WEXITSTATUS(status) == given_status)
               continue;
            if (wrong++ < 4)
               ADD_FAILURE() << (WIFSIGNALED(status) ? "signal " : "status ")
                             << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
   EXPECT_EQ(wrong, 0u) << "of " << count;
}

} // namespace

} // namespace weft::e2e

int main(int argc, char **argv)
{
   using namespace weft::e2e;
   if (argc == 3 && strcmp(argv[1], "--end") == 0) {
      alarm(weft::vulkan::hang_limit);
      for (const Way &way : ways) {
         if (strcmp(way.name, argv[2]) == 0) {
            try {
               way.end();
            } catch (const std::exception &e) {
               fprintf(stderr, "%s: %s\n", way.name, e.what());
            }
         }
      }
      _exit(2);
   }
   testing::InitGoogleTest(&argc, argv);
   return RUN_ALL_TESTS();
}
