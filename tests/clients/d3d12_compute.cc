// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Direct3D 12's compute shaders by vkd3d: HLSL → DXBC → SPIR-V, compared with sums on the host.
// `ci/clients vkd3d` compiles it against Debian's libvkd3d and chooses the Vulkan driver; nothing
// here knows which driver that is.
//
//    d3d12_compute [SEED]

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#define INITGUID
#include <vkd3d_utils.h>

namespace {

constexpr uint32_t poison = 0xdeadbeef;
using Words = std::vector<uint32_t>;

void check(HRESULT result, const char *call)
{
   if (SUCCEEDED(result))
      return;
   printf("FAIL: %s gave %#x\n0 passed, 1 failed\n", call, unsigned(result));
   exit(1);
}

float as_float(uint32_t word)
{
   float value;
   memcpy(&value, &word, sizeof(value));
   return value;
}

uint32_t as_word(float value)
{
   uint32_t word;
   memcpy(&word, &value, sizeof(word));
   return word;
}

// A shader reads words from t0 and writes words to u0.
struct Case {
   const char *name;
   std::string source;
   uint32_t groups;
   Words input;
   Words expected;
   bool is_float; // compared with a bound, the rest bit by bit
};

const char *const declarations = "ByteAddressBuffer source : register(t0);\n"
                                 "RWByteAddressBuffer result : register(u0);\n";

Case product(std::mt19937 &random)
{
   // Tiles of 8x8 in shared memory; 24x16 by 16x24.
   constexpr int rows = 24, columns = 24, depth = 16;
   Case c{"product of matrices",
          std::string(declarations) + R"(
groupshared float a[64], b[64];
[numthreads(8, 8, 1)]
void main(uint3 group : SV_GroupID, uint3 id : SV_GroupThreadID)
{
   uint row = group.x / 3 * 8 + id.y, column = group.x % 3 * 8 + id.x;
   float sum = 0;
   for (uint k = 0; k < 16; k += 8) {
      a[id.y * 8 + id.x] = asfloat(source.Load(4 * (row * 16 + k + id.x)));
      b[id.y * 8 + id.x] = asfloat(source.Load(4 * (384 + (k + id.y) * 24 + column)));
      GroupMemoryBarrierWithGroupSync();
      for (uint i = 0; i < 8; i++)
         sum += a[id.y * 8 + i] * b[i * 8 + id.x];
      GroupMemoryBarrierWithGroupSync();
   }
   result.Store(4 * (row * 24 + column), asuint(sum));
})",
          9,
          {},
          Words(rows * columns),
          true};
   std::vector<float> values(rows * depth + depth * columns);
   for (float &value : values) {
      value = int32_t(random()) * 0x1p-31f;
      c.input.push_back(as_word(value));
   }
   for (int r = 0; r < rows; r++)
      for (int col = 0; col < columns; col++) {
         double sum = 0;
         for (int k = 0; k < depth; k++)
            sum += double(values[r * depth + k]) * values[rows * depth + k * columns + col];
         c.expected[r * columns + col] = as_word(float(sum));
      }
   return c;
}

Case histogram(std::mt19937 &random)
{
   Case c{"histogram by atomics",
          std::string(declarations) + R"(
groupshared uint counts[32];
[numthreads(64, 1, 1)]
void main(uint3 group : SV_GroupID, uint index : SV_GroupIndex)
{
   if (index < 32)
      counts[index] = 0;
   GroupMemoryBarrierWithGroupSync();
   uint old;
   InterlockedAdd(counts[source.Load(4 * (group.x * 64 + index)) >> 27], 1, old);
   GroupMemoryBarrierWithGroupSync();
   if (index < 32)
      result.Store(4 * (group.x * 32 + index), counts[index]);
})",
          5,
          Words(5 * 64),
          Words(5 * 32),
          false};
   for (size_t i = 0; i < c.input.size(); i++) {
      c.input[i] = random();
      c.expected[i / 64 * 32 + (c.input[i] >> 27)]++;
   }
   return c;
}

Case integers(std::mt19937 &random)
{
   Case c{"integers in a loop",
          std::string(declarations) + R"(
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
   uint value = source.Load(4 * id.x), steps = 0;
   while (value != 1 && steps < 100) {
      value = (value & 1) ? 3 * value + 1 : value >> 1;
      steps++;
   }
   int s = asint(source.Load(4 * id.x));
   result.Store2(8 * id.x, uint2(steps ^ value << 8, asuint(s / 7) + countbits(asuint(s))));
})",
          4,
          Words(128),
          {},
          false};
   for (uint32_t &word : c.input) {
      word = random();
      uint32_t value = word, steps = 0;
      while (value != 1 && steps < 100) {
         value = value & 1 ? 3 * value + 1 : value >> 1;
         steps++;
      }
      c.expected.push_back(steps ^ value << 8);
      c.expected.push_back(uint32_t(int32_t(word) / 7) + __builtin_popcount(word));
   }
   return c;
}

class Device {
public:
   Device()
   {
      check(D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, IID_ID3D12Device,
                              reinterpret_cast<void **>(&device_)),
            "D3D12CreateDevice");
      const D3D12_COMMAND_QUEUE_DESC queue{.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE};
      check(device_->CreateCommandQueue(&queue, IID_ID3D12CommandQueue,
                                        reinterpret_cast<void **>(&queue_)),
            "CreateCommandQueue");
      check(device_->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE,
                                            IID_ID3D12CommandAllocator,
                                            reinterpret_cast<void **>(&allocator_)),
            "CreateCommandAllocator");
      check(device_->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_ID3D12Fence,
                                 reinterpret_cast<void **>(&fence_)),
            "CreateFence");
      D3D12_ROOT_PARAMETER parameters[2] = {};
      parameters[0].ParameterType = D3D12_ROOT_PARAMETER_TYPE_SRV;
      parameters[1].ParameterType = D3D12_ROOT_PARAMETER_TYPE_UAV;
      const D3D12_ROOT_SIGNATURE_DESC signature{.NumParameters = 2, .pParameters = parameters};
      ID3DBlob *blob;
      check(D3D12SerializeRootSignature(&signature, D3D_ROOT_SIGNATURE_VERSION_1_0, &blob, nullptr),
            "D3D12SerializeRootSignature");
      check(device_->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(),
                                         IID_ID3D12RootSignature,
                                         reinterpret_cast<void **>(&signature_)),
            "CreateRootSignature");
      blob->Release();
   }

   // The words in u0 behind the shader; before, they are poison.
   Words run(const Case &c)
   {
      ID3DBlob *code = nullptr, *messages = nullptr;
      const HRESULT compiled = D3DCompile(c.source.data(), c.source.size(), c.name, nullptr,
                                          nullptr, "main", "cs_5_0", 0, 0, &code, &messages);
      if (messages && FAILED(compiled))
         printf("%s\n", static_cast<const char *>(messages->GetBufferPointer()));
      check(compiled, "D3DCompile");
      const D3D12_COMPUTE_PIPELINE_STATE_DESC description{
         .pRootSignature = signature_, .CS = {code->GetBufferPointer(), code->GetBufferSize()}};
      ID3D12PipelineState *pipeline;
      check(device_->CreateComputePipelineState(&description, IID_ID3D12PipelineState,
                                                reinterpret_cast<void **>(&pipeline)),
            "CreateComputePipelineState");

      const size_t bytes = c.expected.size() * sizeof(uint32_t);
      ID3D12Resource *source = upload(c.input);
      ID3D12Resource *poisoned = upload(Words(c.expected.size(), poison));
      ID3D12Resource *result =
         create(bytes, D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COPY_DEST,
                D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
      ID3D12Resource *read_back = create(bytes, D3D12_HEAP_TYPE_READBACK,
                                         D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_FLAG_NONE);
      ID3D12GraphicsCommandList *list;
      check(device_->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator_, nullptr,
                                       IID_ID3D12GraphicsCommandList,
                                       reinterpret_cast<void **>(&list)),
            "CreateCommandList");
      list->CopyBufferRegion(result, 0, poisoned, 0, bytes);
      transition(list, result, D3D12_RESOURCE_STATE_COPY_DEST,
                 D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
      list->SetComputeRootSignature(signature_);
      list->SetPipelineState(pipeline);
      list->SetComputeRootShaderResourceView(0, source->GetGPUVirtualAddress());
      list->SetComputeRootUnorderedAccessView(1, result->GetGPUVirtualAddress());
      list->Dispatch(c.groups, 1, 1);
      transition(list, result, D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
                 D3D12_RESOURCE_STATE_COPY_SOURCE);
      list->CopyBufferRegion(read_back, 0, result, 0, bytes);
      check(list->Close(), "Close");
      ID3D12CommandList *const lists[] = {list};
      queue_->ExecuteCommandLists(1, lists);
      check(queue_->Signal(fence_, ++fence_value_), "Signal");
      // Without an event, the call returns when the fence has the value.
      check(fence_->SetEventOnCompletion(fence_value_, nullptr), "SetEventOnCompletion");

      void *mapped;
      check(read_back->Map(0, nullptr, &mapped), "Map");
      Words words(c.expected.size());
      memcpy(words.data(), mapped, bytes);
      read_back->Unmap(0, nullptr);
      for (IUnknown *object : std::initializer_list<IUnknown *>{list, read_back, result, poisoned,
                                                                source, pipeline, code})
         object->Release();
      return words;
   }

private:
   ID3D12Resource *create(size_t bytes, D3D12_HEAP_TYPE heap, D3D12_RESOURCE_STATES state,
                          D3D12_RESOURCE_FLAGS flags)
   {
      const D3D12_HEAP_PROPERTIES properties{.Type = heap};
      const D3D12_RESOURCE_DESC description{.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                            .Width = bytes,
                                            .Height = 1,
                                            .DepthOrArraySize = 1,
                                            .MipLevels = 1,
                                            .SampleDesc = {.Count = 1},
                                            .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
                                            .Flags = flags};
      ID3D12Resource *resource;
      check(device_->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &description, state,
                                             nullptr, IID_ID3D12Resource,
                                             reinterpret_cast<void **>(&resource)),
            "CreateCommittedResource");
      return resource;
   }

   ID3D12Resource *upload(const Words &words)
   {
      ID3D12Resource *resource =
         create(words.size() * sizeof(uint32_t), D3D12_HEAP_TYPE_UPLOAD,
                D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_FLAG_NONE);
      void *mapped;
      check(resource->Map(0, nullptr, &mapped), "Map");
      memcpy(mapped, words.data(), words.size() * sizeof(uint32_t));
      resource->Unmap(0, nullptr);
      return resource;
   }

   static void transition(ID3D12GraphicsCommandList *list, ID3D12Resource *resource,
                          D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after)
   {
      D3D12_RESOURCE_BARRIER barrier{.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION};
      barrier.Transition = {resource, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
      list->ResourceBarrier(1, &barrier);
   }

   ID3D12Device *device_;
   ID3D12CommandQueue *queue_;
   ID3D12CommandAllocator *allocator_;
   ID3D12Fence *fence_;
   ID3D12RootSignature *signature_;
   uint64_t fence_value_ = 0;
};

bool check_case(Device &device, const Case &c)
{
   printf("%-22s ", c.name);
   fflush(stdout);
   const Words got = device.run(c);
   size_t wrong = 0;
   for (size_t i = 0; i < got.size(); i++) {
      if (c.is_float)
         wrong += !(std::abs(as_float(got[i]) - as_float(c.expected[i])) <= 1e-5f);
      else
         wrong += got[i] != c.expected[i];
   }
   printf("%zu words, %zu wrong  %s\n", got.size(), wrong, wrong ? "FAIL" : "pass");
   return wrong == 0;
}

} // namespace

int main(int argc, char **argv)
{
   const unsigned seed = argc > 1 ? strtoul(argv[1], nullptr, 0) : std::random_device{}();
   printf("seed %u\n", seed);
   std::mt19937 random(seed);
   Device device;
   int passed = 0, failed = 0;
   for (const Case &c : {product(random), histogram(random), integers(random)})
      (check_case(device, c) ? passed : failed)++;
   printf("%d passed, %d failed\n", passed, failed);
   return passed && !failed ? 0 : 1;
}
