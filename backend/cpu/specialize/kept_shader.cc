// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/kept_shader.h"

#include "nir_passes/compiler_options.h"

#include "compiler/nir/nir_serialize.h"
#include "util/blob.h"

namespace weft::cpu {

namespace {

class Writer {
public:
   Writer() { blob_init(&out); }
   ~Writer() { blob_finish(&out); }
   Writer(const Writer &) = delete;
   Writer &operator=(const Writer &) = delete;

   blob out;

   void add(std::span<const std::byte> bytes)
   {
      blob_write_uint64(&out, bytes.size());
      blob_write_bytes(&out, bytes.data(), bytes.size());
   }
   void add(const DispatchExpression &e)
   {
      blob_write_uint8(&out, uint8_t(e.kind));
      blob_write_uint8(&out, e.bits);
      blob_write_uint16(&out, e.op);
      for (const uint32_t source : e.sources)
         blob_write_uint32(&out, source);
      blob_write_uint64(&out, e.value);
   }
   void add(const BranchConditions::Branch &branch)
   {
      blob_write_uint32(&out, branch.number);
      blob_write_uint32(&out, branch.condition);
      blob_write_uint32(&out, uint32_t(branch.around));
      for (const bool flag : {branch.in_then, branch.keeps_then, branch.keeps_else})
         blob_write_uint8(&out, flag);
   }
   template <typename T>
   void add_all(const std::vector<T> &members)
   {
      blob_write_uint64(&out, members.size());
      for (const T &member : members)
         add(member);
   }

   /// Empty if memory ran out.
   std::vector<std::byte> finish() const
   {
      const auto *begin = reinterpret_cast<const std::byte *>(out.data);
      return out.out_of_memory ? std::vector<std::byte>()
                               : std::vector<std::byte>(begin, begin + out.size);
   }
};

/// Behind the end, all values are zero and all lists empty.
class Reader {
public:
   explicit Reader(std::span<const std::byte> bytes)
   {
      blob_reader_init(&in, bytes.data(), bytes.size());
   }

   bool flag() { return blob_read_uint8(&in) != 0; }
   std::span<const std::byte> bytes()
   {
      const uint64_t count = blob_read_uint64(&in);
      if (!has(count))
         return {};
      const auto *begin = static_cast<const std::byte *>(blob_read_bytes(&in, count));
      return {begin, count};
   }
   void read(DispatchExpression &e)
   {
      e.kind = DispatchExpression::Kind(blob_read_uint8(&in));
      e.bits = blob_read_uint8(&in);
      e.op = blob_read_uint16(&in);
      for (uint32_t &source : e.sources)
         source = blob_read_uint32(&in);
      e.value = blob_read_uint64(&in);
   }
   void read(BranchConditions::Branch &branch)
   {
      branch.number = blob_read_uint32(&in);
      branch.condition = blob_read_uint32(&in);
      branch.around = int32_t(blob_read_uint32(&in));
      branch.in_then = flag();
      branch.keeps_then = flag();
      branch.keeps_else = flag();
   }
   template <typename T>
   std::vector<T> all()
   {
      const uint64_t count = blob_read_uint64(&in);
      if (!has(count)) // a member takes a byte at least
         return {};
      std::vector<T> members(count);
      for (T &member : members)
         read(member);
      return members;
   }

   bool is_whole() const { return !in.overrun; }
   bool at_end() const { return in.overrun || in.current == in.end; }

private:
   bool has(uint64_t bytes)
   {
      if (bytes > uint64_t(in.end - in.current))
         in.overrun = true;
      return !in.overrun;
   }

   blob_reader in;
};

} // namespace

std::vector<std::byte> pack_nir(const nir_shader *nir)
{
   Writer writer;
   nir_serialize(&writer.out, nir, /*strip=*/true);
   return writer.finish();
}

Shader unpack_nir(const KeptShader &shader)
{
   const TypeTable types;
   blob_reader reader;
   blob_reader_init(&reader, shader.nir.data(), shader.nir.size());
   return Shader(nir_deserialize(nullptr, &llvm_compiler_options, &reader));
}

std::vector<std::byte> write_shader(const KeptShader &shader,
                                    const ShaderVariants::Programs &programs, FileKind kind)
{
   Writer writer;
   blob_write_uint8(&writer.out, shader.robust_buffer_access);
   writer.add_all(shader.conditions.expressions);
   writer.add_all(shader.conditions.branches);
   writer.add(shader.nir);
   for (const auto &[decisions, future] : programs) {
      const ProgramResult &program = future.get();
      if (!program)
         continue;
      writer.add(std::as_bytes(std::span(decisions)));
      writer.add((*program)->serialize());
   }
   const std::vector<std::byte> payload = writer.finish();
   return payload.empty() ? payload : write_program_file(kind, shader.info, payload);
}

Result<StoredShader> read_shader_payload(const ProgramInfo &info,
                                         std::span<const std::byte> payload, const CpuFeatures &cpu)
{
   Reader reader(payload);
   auto shader = std::make_shared<KeptShader>();
   shader->info = info;
   shader->cpu = &cpu;
   shader->robust_buffer_access = reader.flag();
   shader->conditions.expressions = reader.all<DispatchExpression>();
   shader->conditions.branches = reader.all<BranchConditions::Branch>();
   const std::span<const std::byte> nir = reader.bytes();
   shader->nir.assign(nir.begin(), nir.end());
   if (!reader.is_whole())
      return Error{"compiled shader: truncated"};
   if (nir.empty() || !are_valid(shader->conditions))
      return Error{"compiled shader: damaged"};
   StoredShader stored = {shader, {}};
   while (!reader.at_end()) {
      BranchDecisions decisions;
      for (const std::byte decision : reader.bytes())
         decisions.push_back(BranchDecision(decision));
      const std::span<const std::byte> file = reader.bytes();
      if (!reader.is_whole())
         return Error{"compiled shader: truncated"};
      if (!are_valid(shader->conditions, decisions))
         return Error{"compiled shader: damaged"};
      ProgramResult program = deserialize(file, cpu);
      if (!program)
         return program.error();
      stored.programs.insert_or_assign(std::move(decisions), ready(std::move(program)));
   }
   return stored;
}

} // namespace weft::cpu
