// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A language model with random weights on ggml's backends, with the graphs that llama.cpp builds.
/// `ci/bench model` compiles it against Debian's libggml and chooses the Vulkan driver.
///
///    model write FILE KIND LAYERS   a GGUF file of Llama's shape; KIND: f16, q8_0, q4_0, q4_K_M
///    model run FILE ROUNDS          pp512 and tg16 on Vulkan0 and CPU alternately: a line of JSON
///                                   for each measurement, and a last one with the logits' errors
///    model first BACKEND FILE       seconds from the start of the process to the first token
///                                   after a prompt of 64, and to the second, which needs other
///                                   kernels
///
/// llama.cpp can read the files too; they contain no vocabulary.

#include "tests/clients/ggml_support.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gguf.h>

namespace {

constexpr float epsilon = 1e-5f, rope_base = 10000.0f;
constexpr int64_t context_length = 512;
constexpr int prompt_tokens = 512, generated_tokens = 16, first_prompt_tokens = 64;

struct Shape {
   int64_t layers = 8, width = 2048, hidden = 8192, heads = 32, kv_heads = 8, vocabulary = 32000;

   int64_t head() const { return width / heads; }
   int64_t kv_width() const { return head() * kv_heads; }
};

/// Calls `function` with each number of the shape and its key in the file.
void for_each_number(Shape &shape, const auto &function)
{
   function("llama.block_count", shape.layers);
   function("llama.embedding_length", shape.width);
   function("llama.feed_forward_length", shape.hidden);
   function("llama.attention.head_count", shape.heads);
   function("llama.attention.head_count_kv", shape.kv_heads);
   function("llama.vocab_size", shape.vocabulary);
}

std::string block_name(int64_t layer, const std::string &name)
{
   return "blk." + std::to_string(layer) + "." + name + ".weight";
}

// ---- Writing

/// The type of a matrix by the part of its name before ".weight", as llama.cpp's quantize chooses
/// it.
ggml_type weight_type(const std::string &kind, const std::string &part, int64_t layer,
                      int64_t layers)
{
   if (kind == "f16" || kind == "q8_0")
      return type_named(kind);
   if (part == "output")
      return GGML_TYPE_Q6_K;
   if (kind == "q4_0")
      return GGML_TYPE_Q4_0;
   if (kind != "q4_K_M")
      die("unknown kind of model " + kind);
   const int64_t eighth = layers / 8;
   const bool more_bits = layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
   const bool sensitive = part == "attn_v" || part == "ffn_down";
   return sensitive && more_bits ? GGML_TYPE_Q6_K : GGML_TYPE_Q4_K;
}

void add_tensors(const Shape &s, const std::string &kind, ggml_context *context)
{
   const auto vector = [&](const std::string &name) {
      ggml_set_name(ggml_new_tensor_1d(context, GGML_TYPE_F32, s.width), name.c_str());
   };
   const auto matrix = [&](const std::string &name, ggml_type type, int64_t columns, int64_t rows) {
      ggml_set_name(ggml_new_tensor_2d(context, type, columns, rows), name.c_str());
   };
   matrix("token_embd.weight", weight_type(kind, "token_embd", 0, s.layers), s.width, s.vocabulary);
   for (int64_t layer = 0; layer < s.layers; layer++) {
      const auto block = [&](const std::string &part, int64_t columns, int64_t rows) {
         matrix(block_name(layer, part), weight_type(kind, part, layer, s.layers), columns, rows);
      };
      vector(block_name(layer, "attn_norm"));
      block("attn_q", s.width, s.width);
      block("attn_k", s.width, s.kv_width());
      block("attn_v", s.width, s.kv_width());
      block("attn_output", s.width, s.width);
      vector(block_name(layer, "ffn_norm"));
      block("ffn_gate", s.width, s.hidden);
      block("ffn_up", s.width, s.hidden);
      block("ffn_down", s.hidden, s.width);
   }
   vector("output_norm.weight");
   matrix("output.weight", weight_type(kind, "output", 0, s.layers), s.width, s.vocabulary);
}

int write(const std::string &path, const std::string &kind, int64_t layers)
{
   Shape shape{.layers = layers};
   const ggml_context_ptr tensors(
      ggml_init({ggml_tensor_overhead() * size_t(9 * layers + 3), nullptr, true}));
   add_tensors(shape, kind, tensors.get());

   const gguf_context_ptr file(gguf_init_empty());
   gguf_set_val_str(file.get(), "general.architecture", "llama");
   gguf_set_val_str(file.get(), "general.name", ("random weights, " + kind).c_str());
   gguf_set_val_str(file.get(), "tokenizer.ggml.model", "no_vocab");
   gguf_set_val_u32(file.get(), "llama.context_length", context_length);
   gguf_set_val_u32(file.get(), "llama.rope.dimension_count", uint32_t(shape.head()));
   gguf_set_val_f32(file.get(), "llama.rope.freq_base", rope_base);
   gguf_set_val_f32(file.get(), "llama.attention.layer_norm_rms_epsilon", epsilon);
   for_each_number(shape, [&](const char *key, int64_t value) {
      gguf_set_val_u32(file.get(), key, uint32_t(value));
   });
   for (ggml_tensor *t = ggml_get_first_tensor(tensors.get()); t;
        t = ggml_get_next_tensor(tensors.get(), t))
      gguf_add_tensor(file.get(), t);

   FILE *out = fopen(path.c_str(), "wb");
   bool written = out && gguf_write_to_file_ptr(file.get(), out, /*only_meta=*/true);
   uint32_t seed = 1;
   for (ggml_tensor *t = ggml_get_first_tensor(tensors.get()); t && written;
        t = ggml_get_next_tensor(tensors.get(), t)) {
      std::vector<uint8_t> bytes = random_weights(t, seed);
      seed += uint32_t(t->ne[1]);
      bytes.resize(GGML_PAD(bytes.size(), gguf_get_alignment(file.get())));
      written = fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
   }
   if (!written || fclose(out) != 0)
      die(path + ": " + strerror(errno));
   return 0;
}

// ---- Reading

/// The mapped bytes of a file.
class MappedFile {
public:
   explicit MappedFile(const std::string &path)
   {
      const int file = open(path.c_str(), O_RDONLY);
      struct stat status;
      if (file < 0 || fstat(file, &status) != 0)
         die(path + ": " + strerror(errno));
      size_ = size_t(status.st_size);
      memory_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
      close(file);
      if (memory_ == MAP_FAILED)
         die(path + ": " + strerror(errno));
   }
   ~MappedFile() { munmap(memory_, size_); }
   MappedFile(const MappedFile &) = delete;

   std::span<uint8_t> bytes() const { return {static_cast<uint8_t *>(memory_), size_}; }

private:
   void *memory_;
   size_t size_;
};

/// The weights of a file, placed where llama.cpp would put them for one device.
class Weights {
public:
   Weights(const std::string &path, ggml_backend_dev_t device) : file_(path)
   {
      ggml_context *described = nullptr;
      const gguf_context_ptr gguf(gguf_init_from_file(path.c_str(), {true, &described}));
      described_.reset(described);
      if (!gguf)
         die(path + " is no GGUF file");
      for_each_number(shape_, [&](const char *key, int64_t &value) {
         const int64_t id = gguf_find_key(gguf.get(), key);
         if (id < 0 || gguf_get_kv_type(gguf.get(), id) != GGUF_TYPE_UINT32)
            die(path + " has no number " + key);
         value = gguf_get_val_u32(gguf.get(), id);
      });
      load(gguf.get(), device);
   }

   const Shape &shape() const { return shape_; }

   ggml_tensor *operator[](const std::string &name) const
   {
      const auto found = tensors_.find(name);
      if (found == tensors_.end())
         die("the model has no tensor " + name);
      return found->second;
   }

   /// Width floats per token. As in llama.cpp, the CPU looks them up for every device.
   std::vector<float> embeddings(std::span<const int32_t> tokens) const
   {
      const ggml_type_traits *traits = ggml_get_type_traits(embedding_->type);
      std::vector<float> values(tokens.size() * shape_.width);
      for (size_t i = 0; i < tokens.size(); i++)
         traits->to_float(static_cast<const char *>(embedding_->data) +
                             tokens[i] * embedding_->nb[1],
                          values.data() + i * shape_.width, shape_.width);
      return values;
   }

private:
   void load(gguf_context *gguf, ggml_backend_dev_t device)
   {
      ggml_backend_dev_props properties;
      ggml_backend_dev_get_props(device, &properties);
      const ggml_backend_buffer_type_t usual = ggml_backend_dev_buffer_type(device);
      const auto bytes_of = [&](const ggml_tensor *t) {
         const int64_t id = gguf_find_tensor(gguf, t->name);
         return file_.bytes().subspan(gguf_get_data_offset(gguf) + gguf_get_tensor_offset(gguf, id),
                                      ggml_nbytes(t));
      };

      std::map<ggml_backend_buffer_type_t, std::vector<ggml_tensor *>> places;
      for (ggml_tensor *t = ggml_get_first_tensor(described_.get()); t;
           t = ggml_get_next_tensor(described_.get(), t)) {
         if (!strcmp(t->name, "token_embd.weight")) {
            t->data = bytes_of(t).data();
            embedding_ = t;
         } else {
            places[ggml_n_dims(t) == 2 ? weight_buffer_type(device, t) : usual].push_back(t);
         }
      }
      for (const auto &[type, list] : places) {
         ggml_context_ptr context(ggml_init({ggml_tensor_overhead() * list.size(), nullptr, true}));
         for (const ggml_tensor *t : list) {
            tensors_[t->name] = ggml_set_name(ggml_dup_tensor(context.get(), t), t->name);
         }
         ggml_backend_buffer_ptr buffer;
         if (type == usual && properties.caps.buffer_from_host_ptr) {
            // Weights stay in the file's pages.
            const size_t largest = ggml_get_max_tensor_size(context.get());
            buffer.reset(ggml_backend_dev_buffer_from_host_ptr(device, file_.bytes().data(),
                                                               file_.bytes().size(), largest));
         }
         const bool in_place = bool(buffer);
         if (!in_place)
            buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(context.get(), type));
         if (!buffer)
            die(std::string("cannot allocate the weights in ") + ggml_backend_buft_name(type));
         ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
         for (const ggml_tensor *t : list) {
            const std::span<uint8_t> bytes = bytes_of(t);
            if (in_place) {
               auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer.get()));
               ggml_backend_tensor_alloc(buffer.get(), tensors_[t->name],
                                         base + (bytes.data() - file_.bytes().data()));
            } else {
               ggml_backend_tensor_set(tensors_[t->name], bytes.data(), 0, bytes.size());
            }
         }
         contexts_.push_back(std::move(context));
         buffers_.push_back(std::move(buffer));
      }
   }

   MappedFile file_;
   Shape shape_;
   ggml_context_ptr described_;
   ggml_tensor *embedding_ = nullptr;
   std::map<std::string, ggml_tensor *> tensors_;
   std::vector<ggml_context_ptr> contexts_;
   std::vector<ggml_backend_buffer_ptr> buffers_;
};

// ---- Running

/// Keys and values of every layer: kv_width × context_length halves.
struct Cache {
   Cache(const Shape &s, ggml_backend_t backend)
       : context(ggml_init({ggml_tensor_overhead() * size_t(2 * s.layers), nullptr, true}))
   {
      for (int64_t i = 0; i < s.layers; i++) {
         for (auto *list : {&keys, &values})
            list->push_back(
               ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, s.kv_width(), context_length));
      }
      buffer.reset(ggml_backend_alloc_ctx_tensors(context.get(), backend));
      if (!buffer)
         die("cannot allocate the keys and values");
      ggml_backend_buffer_clear(buffer.get(), 0);
   }

   ggml_context_ptr context;
   ggml_backend_buffer_ptr buffer;
   std::vector<ggml_tensor *> keys, values;
};

/// The graph for a number of new tokens that see `seen` places of the cache; it works for any
/// position of the tokens in the cache. Built as llama.cpp builds it, with flash attention.
class Graph {
public:
   /// Runs on the first backend; the scheduler requires the CPU as the last one, which must get no
   /// work.
   Graph(const Weights &weights, const Cache &cache, std::vector<ggml_backend_t> backends,
         int64_t tokens, int64_t seen)
       : context_(ggml_init(
            {ggml_tensor_overhead() * max_nodes + ggml_graph_overhead_custom(max_nodes, false),
             nullptr, true})),
         tokens_(tokens), seen_(seen)
   {
      build(weights, cache);
      scheduler_.reset(ggml_backend_sched_new(backends.data(), nullptr, int(backends.size()),
                                              max_nodes, false, false));
      if (!ggml_backend_sched_alloc_graph(scheduler_.get(), graph_))
         die("cannot allocate the graph");
      if (ggml_backend_sched_get_n_splits(scheduler_.get()) != 1)
         die(std::string(ggml_backend_name(backends[0])) + " cannot run the whole graph");
   }

   /// The logits of the last token.
   std::vector<float> run(const Weights &weights, std::span<const int32_t> tokens, int64_t past)
   {
      const std::vector<float> x = weights.embeddings(tokens);
      std::vector<int32_t> positions(tokens_);
      std::iota(positions.begin(), positions.end(), int32_t(past));
      const std::vector<int64_t> rows(positions.begin(), positions.end());
      std::vector<ggml_fp16_t> mask(seen_ * tokens_, ggml_fp32_to_fp16(-INFINITY));
      for (int64_t t = 0; t < tokens_; t++)
         std::fill_n(mask.begin() + t * seen_, past + t + 1, ggml_fp32_to_fp16(0));
      const int32_t last = int32_t(tokens_ - 1);
      set(x_, x.data());
      set(positions_, positions.data());
      set(rows_, rows.data());
      set(mask_, mask.data());
      set(last_, &last);
      if (ggml_backend_sched_graph_compute(scheduler_.get(), graph_) != GGML_STATUS_SUCCESS)
         die("the graph could not be computed");
      std::vector<float> logits(ggml_nelements(logits_));
      ggml_backend_tensor_get(logits_, logits.data(), 0, ggml_nbytes(logits_));
      return logits;
   }

private:
   static constexpr size_t max_nodes = 4096;

   static void set(ggml_tensor *t, const void *data)
   {
      ggml_backend_tensor_set(t, data, 0, ggml_nbytes(t));
   }

   ggml_tensor *input(ggml_type type, int64_t columns, int64_t rows = 1)
   {
      ggml_tensor *t = ggml_new_tensor_2d(context_.get(), type, columns, rows);
      ggml_set_input(t);
      return t;
   }

   void build(const Weights &w, const Cache &cache)
   {
      ggml_context *ctx = context_.get();
      const Shape &s = w.shape();
      graph_ = ggml_new_graph_custom(ctx, max_nodes, false);
      x_ = input(GGML_TYPE_F32, s.width, tokens_);
      positions_ = input(GGML_TYPE_I32, tokens_);
      rows_ = input(GGML_TYPE_I64, tokens_);
      mask_ = input(GGML_TYPE_F16, seen_, tokens_);
      last_ = input(GGML_TYPE_I32, 1);

      const auto normalise = [&](ggml_tensor *x, const std::string &name) {
         return ggml_mul(ctx, ggml_rms_norm(ctx, x, epsilon), w[name]);
      };
      ggml_tensor *x = x_;
      for (int64_t layer = 0; layer < s.layers; layer++) {
         const auto multiply = [&](const std::string &name, ggml_tensor *y) {
            return ggml_mul_mat(ctx, w[block_name(layer, name)], y);
         };
         ggml_tensor *y = normalise(x, block_name(layer, "attn_norm"));
         y = attend(s, multiply("attn_q", y), multiply("attn_k", y), multiply("attn_v", y),
                    cache.keys[layer], cache.values[layer]);
         y = multiply("attn_output", y);
         if (layer == s.layers - 1) {
            y = ggml_get_rows(ctx, y, last_);
            x = ggml_get_rows(ctx, x, last_);
         }
         x = ggml_add(ctx, y, x);
         y = normalise(x, block_name(layer, "ffn_norm"));
         ggml_tensor *up = multiply("ffn_up", y);
         y = multiply("ffn_down", ggml_swiglu_split(ctx, multiply("ffn_gate", y), up));
         x = ggml_add(ctx, y, x);
      }
      logits_ = ggml_mul_mat(ctx, w["output.weight"], normalise(x, "output_norm.weight"));
      ggml_set_output(logits_);
      ggml_build_forward_expand(graph_, logits_);
   }

   ggml_tensor *attend(const Shape &s, ggml_tensor *q, ggml_tensor *k, ggml_tensor *v,
                       ggml_tensor *keys, ggml_tensor *values)
   {
      ggml_context *ctx = context_.get();
      const auto rotate = [&](ggml_tensor *x, int64_t heads) {
         return ggml_rope_ext(ctx, ggml_reshape_3d(ctx, x, s.head(), heads, tokens_), positions_,
                              nullptr, int(s.head()), GGML_ROPE_TYPE_NORMAL, context_length,
                              rope_base, 1, 0, 1, 32, 1);
      };
      q = rotate(q, s.heads);
      k = rotate(k, s.kv_heads);
      for (ggml_tensor *t : {q, v, k})
         ggml_build_forward_expand(graph_, t);
      const auto store = [&](ggml_tensor *into, ggml_tensor *t) {
         t = ggml_reshape_2d(ctx, t, s.kv_width(), tokens_);
         ggml_build_forward_expand(graph_, ggml_set_rows(ctx, into, t, rows_));
      };
      store(keys, k);
      store(values, v);
      // head × heads × tokens → head × tokens × heads
      const auto by_head = [&](ggml_tensor *t) { return ggml_permute(ctx, t, 0, 2, 1, 3); };
      const auto cached = [&](ggml_tensor *t) {
         return by_head(
            ggml_view_3d(ctx, t, s.head(), s.kv_heads, seen_, t->nb[1] / s.kv_heads, t->nb[1], 0));
      };
      ggml_tensor *y = ggml_flash_attn_ext(ctx, by_head(q), cached(keys), cached(values), mask_,
                                           1 / std::sqrt(float(s.head())), 0, 0);
      ggml_prec_set_acc(y, GGML_PREC_F32);
      return ggml_reshape_2d(ctx, y, s.width, tokens_);
   }

   ggml_context_ptr context_;
   int64_t tokens_, seen_;
   ggml_cgraph *graph_ = nullptr;
   ggml_tensor *x_ = nullptr, *positions_ = nullptr, *rows_ = nullptr, *mask_ = nullptr,
               *last_ = nullptr, *logits_ = nullptr;
   ggml_backend_sched_ptr scheduler_;
};

/// A model on one backend. As in llama.cpp, attention sees a multiple of 256 places.
class Model {
public:
   Model(const std::string &path, const std::string &backend, int prompt)
       : backend_(open_backend(backend)), cpu_(backend == "CPU" ? nullptr : open_backend("CPU")),
         weights_(path, ggml_backend_get_device(backend_.get())),
         cache_(weights_.shape(), backend_.get()),
         prompt_(weights_, cache_, backends(), prompt, GGML_PAD(prompt, 256)),
         next_(weights_, cache_, backends(), 1, 256)
   {
   }

   const Shape &shape() const { return weights_.shape(); }

   std::vector<float> prompt(std::span<const int32_t> tokens)
   {
      return prompt_.run(weights_, tokens, 0);
   }

   std::vector<float> next(int32_t token, int64_t past)
   {
      return next_.run(weights_, {&token, 1}, past);
   }

private:
   std::vector<ggml_backend_t> backends() const
   {
      std::vector<ggml_backend_t> list = {backend_.get()};
      if (cpu_)
         list.push_back(cpu_.get());
      return list;
   }

   ggml_backend_ptr backend_, cpu_;
   Weights weights_;
   Cache cache_;
   Graph prompt_, next_;
};

std::vector<int32_t> random_tokens(size_t count, int64_t vocabulary)
{
   std::mt19937 random(1);
   std::vector<int32_t> tokens(count);
   for (int32_t &token : tokens)
      token = int32_t(random() % vocabulary);
   return tokens;
}

/// Runs the prompt or, with an empty cache, the generation; returns the last logits.
std::vector<float> run_test(Model &model, const std::string &test, std::span<const int32_t> tokens)
{
   if (test == "pp512")
      return model.prompt(tokens);
   std::vector<float> logits;
   for (int i = 0; i < generated_tokens; i++)
      logits = model.next(tokens[i], i);
   return logits;
}

int run(const std::string &path, int rounds)
{
   load_backends();
   fprintf(stderr, "%s", start_up_line.c_str());
   Model vulkan(path, "Vulkan0", prompt_tokens), cpu(path, "CPU", prompt_tokens);
   const std::vector<int32_t> tokens = random_tokens(prompt_tokens, cpu.shape().vocabulary);
   // Errors of products add up: two products in sequence per layer and one at the end.
   const double bound = max_nmse * double(2 * cpu.shape().layers + 1);
   bool right = true;
   std::string errors;
   for (const char *test : {"pp512", "tg16"}) {
      // The first run, which compiles the pipelines, is not measured.
      const double nmse =
         normalised_error(run_test(vulkan, test, tokens), run_test(cpu, test, tokens));
      right &= nmse < bound;
      char text[40];
      snprintf(text, sizeof(text), "%s\"%s\": %.3g", errors.empty() ? "" : ", ", test, nmse);
      errors += text;
      for (int round = 0; round < rounds; round++) {
         for (auto &[name, model] : {std::pair("Vulkan0", &vulkan), {"CPU", &cpu}}) {
            const auto start = Clock::now();
            const double cpu_start = cpu_seconds();
            run_test(*model, test, tokens);
            printf("{\"backend\": \"%s\", \"test\": \"%s\", \"tokens\": %d, \"seconds\": %f, "
                   "\"cpu_seconds\": %f}\n",
                   name, test, test[0] == 'p' ? prompt_tokens : generated_tokens,
                   seconds_since(start), cpu_seconds() - cpu_start);
            fflush(stdout);
         }
      }
   }
   printf("{\"nmse\": {%s}}\n", errors.c_str());
   return right ? 0 : 1;
}

/// Repeats the tests that standard input names, one per line. Each test first runs once before
/// `ready`, unmeasured, to compile the pipelines.
int serve(const std::string &backend, const std::string &path)
{
   load_backends();
   fprintf(stderr, "%s", start_up_line.c_str());
   Model model(path, backend, prompt_tokens);
   const std::vector<int32_t> tokens = random_tokens(prompt_tokens, model.shape().vocabulary);
   for (const char *test : {"pp512", "tg16"})
      run_test(model, test, tokens);
   printf("ready\n");
   fflush(stdout);
   char test[16];
   while (scanf("%15s", test) == 1) {
      const auto start = Clock::now();
      const double cpu_start = cpu_seconds();
      run_test(model, test, tokens);
      printf("%f %f\n", seconds_since(start), cpu_seconds() - cpu_start);
      fflush(stdout);
   }
   return 0;
}

int first(const std::string &backend, const std::string &path)
{
   load_backends();
   Model model(path, backend, first_prompt_tokens);
   const double loaded = seconds_since(process_start);
   const std::vector<int32_t> tokens = random_tokens(first_prompt_tokens, model.shape().vocabulary);
   const auto likeliest = [](const std::vector<float> &logits) {
      return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
   };
   const int32_t token = likeliest(model.prompt(tokens));
   const double one = seconds_since(process_start);
   model.next(token, first_prompt_tokens);
   printf("{\"loaded\": %f, \"first\": %f, \"second\": %f, \"cpu_seconds\": %f}\n", loaded, one,
          seconds_since(process_start), cpu_seconds());
   return 0;
}

} // namespace

int main(int argc, char **argv)
{
   const std::vector<std::string> arguments(argv + 1, argv + argc);
   const std::string mode = arguments.empty() ? "" : arguments[0];
   if (mode == "write" && arguments.size() == 4)
      return write(arguments[1], arguments[2], atoll(arguments[3].c_str()));
   if (mode == "run" && arguments.size() == 3)
      return run(arguments[1], atoi(arguments[2].c_str()));
   if (mode == "serve" && arguments.size() == 3)
      return serve(arguments[1], arguments[2]);
   if (mode == "first" && arguments.size() == 3)
      return first(arguments[1], arguments[2]);
   die("usage: model write FILE KIND LAYERS | run FILE ROUNDS | serve BACKEND FILE | "
       "first BACKEND FILE");
}
