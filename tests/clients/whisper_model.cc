// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Runs whisper.cpp with a model of random weights, of the shape of its "tiny". The logits by ggml's
// Vulkan backend and by ggml's CPU backend must agree. `ci/clients whisper` compiles it against
// Debian's libwhisper and chooses the Vulkan driver; nothing here knows which driver that is.
//
//    whisper_model [SEED]

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <ggml-backend.h>
#include <ggml.h>
#include <whisper.h>

namespace {

constexpr int vocabulary = 51864, audio_context = 1500, text_context = 448;
constexpr int width = 384, heads = 6, layers = 4, bands = 80, bins = 201;
// The bound of the logits' error, squared and normalised. It is for sums in f32. With flash
// attention, ggml's CPU backend sums in f16; ggml's shaders without matrices also sum in f16, and
// reach 4e-4.
constexpr double max_nmse = 1e-5, max_nmse_flash = 2e-3;

// A file of whisper.cpp's own format.
class ModelFile {
public:
   explicit ModelFile(unsigned seed) : random_(seed)
   {
      put({0x67676d6c, vocabulary, audio_context, width, heads, layers, text_context, width, heads,
           layers, bands, /*f16*/ 1});
      put({bands, bins});
      for (int i = 0; i < bands * bins; i++)
         put_float(0.0f);
      put({1, 1});
      bytes_.push_back('a');

      tensor("encoder.positional_embedding", {width, audio_context}, 0.1f);
      convolution("encoder.conv1", bands);
      convolution("encoder.conv2", width);
      norm("encoder.ln_post");
      for (int i = 0; i < layers; i++) {
         const std::string block = "encoder.blocks." + std::to_string(i) + ".";
         attention(block + "attn");
         perceptron(block);
      }
      tensor("decoder.positional_embedding", {width, text_context}, 0.1f);
      weight("decoder.token_embedding.weight", {width, vocabulary}, width);
      norm("decoder.ln");
      for (int i = 0; i < layers; i++) {
         const std::string block = "decoder.blocks." + std::to_string(i) + ".";
         attention(block + "attn");
         attention(block + "cross_attn");
         perceptron(block);
      }
   }

   std::vector<uint8_t> &bytes() { return bytes_; }

private:
   void attention(const std::string &name)
   {
      norm(name + "_ln");
      for (const char *part : {".query", ".key", ".value", ".out"}) {
         weight(name + part + ".weight", {width, width}, width);
         if (strcmp(part, ".key"))
            tensor(name + part + ".bias", {width}, 0.1f);
      }
   }
   void perceptron(const std::string &block)
   {
      norm(block + "mlp_ln");
      weight(block + "mlp.0.weight", {width, 4 * width}, width);
      tensor(block + "mlp.0.bias", {4 * width}, 0.1f);
      weight(block + "mlp.2.weight", {4 * width, width}, 4 * width);
      tensor(block + "mlp.2.bias", {width}, 0.1f);
   }
   void convolution(const std::string &name, int inputs)
   {
      weight(name + ".weight", {3, inputs, width}, 3 * inputs);
      tensor(name + ".bias", {1, width}, 0.1f);
   }
   void norm(const std::string &name)
   {
      tensor(name + ".weight", {width}, 0.5f, 1.0f);
      tensor(name + ".bias", {width}, 0.1f);
   }

   // Keeps the variance of the sums over `inputs` products.
   void weight(const std::string &name, const std::vector<int32_t> &shape, int inputs)
   {
      const float range = std::sqrt(3.0f / inputs);
      for (int64_t left = header(name, shape, GGML_TYPE_F16); left > 0; left--) {
         const ggml_fp16_t half = ggml_fp32_to_fp16(range * uniform());
         put_bytes(&half, sizeof(half));
      }
   }
   void tensor(const std::string &name, const std::vector<int32_t> &shape, float range,
               float centre = 0)
   {
      for (int64_t left = header(name, shape, GGML_TYPE_F32); left > 0; left--)
         put_float(centre + range * uniform());
   }

   // The number of its elements.
   int64_t header(const std::string &name, const std::vector<int32_t> &shape, ggml_type type)
   {
      put({int32_t(shape.size()), int32_t(name.size()), type});
      int64_t count = 1;
      for (int32_t size : shape) {
         put({size});
         count *= size;
      }
      put_bytes(name.data(), name.size());
      return count;
   }

   float uniform() { return int32_t(random_()) * 0x1p-31f; }
   void put(std::initializer_list<int32_t> words)
   {
      for (int32_t word : words)
         put_bytes(&word, sizeof(word));
   }
   void put_float(float value) { put_bytes(&value, sizeof(value)); }
   void put_bytes(const void *data, size_t size)
   {
      const auto *bytes = static_cast<const uint8_t *>(data);
      bytes_.insert(bytes_.end(), bytes, bytes + size);
   }

   std::mt19937 random_;
   std::vector<uint8_t> bytes_;
};

std::string log_text;

// Logits behind the prompt and behind each of the tokens that follow it.
std::vector<std::vector<float>> compute(ModelFile &model, bool on_device, bool flash_attention,
                                        const std::vector<float> &mel,
                                        const std::vector<whisper_token> &tokens)
{
   const auto die = [](const char *call) {
      printf("FAIL: %s\n%s", call, log_text.c_str());
      printf("0 passed, 1 failed\n");
      exit(1);
   };
   constexpr size_t prompt = 6;
   constexpr int threads = 2;
   whisper_context_params parameters = whisper_context_default_params();
   parameters.use_gpu = on_device;
   parameters.flash_attn = flash_attention;
   log_text.clear();
   whisper_context *context =
      whisper_init_from_buffer_with_params(model.bytes().data(), model.bytes().size(), parameters);
   if (!context)
      die("whisper_init_from_buffer_with_params");
   if (on_device != (log_text.find("Vulkan0") != std::string::npos))
      die(on_device ? "whisper.cpp does not take the device" : "whisper.cpp takes the device");

   std::vector<std::vector<float>> logits;
   const auto keep = [&](size_t row) {
      const float *first = whisper_get_logits(context) + row * vocabulary;
      logits.emplace_back(first, first + vocabulary);
   };
   const auto start = std::chrono::steady_clock::now();
   if (whisper_set_mel(context, mel.data(), mel.size() / bands, bands) != 0)
      die("whisper_set_mel");
   if (whisper_encode(context, 0, threads) != 0)
      die("whisper_encode");
   if (whisper_decode(context, tokens.data(), prompt, 0, threads) != 0)
      die("whisper_decode");
   keep(prompt - 1);
   for (size_t i = prompt; i < tokens.size(); i++) {
      if (whisper_decode(context, &tokens[i], 1, i, threads) != 0)
         die("whisper_decode");
      keep(0);
   }
   printf("%s: %.1f s\n", on_device ? "device" : "CPU",
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
   fflush(stdout);
   whisper_free(context);
   return logits;
}

double normalised_error(const std::vector<float> &got, const std::vector<float> &expected)
{
   double error = 0, norm = 0;
   for (size_t i = 0; i < got.size(); i++) {
      const double d = double(got[i]) - expected[i];
      error += d * d;
      norm += double(expected[i]) * expected[i];
   }
   return error / norm;
}

} // namespace

int main(int argc, char **argv)
{
   const unsigned seed = argc > 1 ? strtoul(argv[1], nullptr, 0) : std::random_device{}();
   printf("seed %u\n", seed);
   const auto log = [](ggml_log_level level, const char *text, void *) {
      log_text += text;
      if (level == GGML_LOG_LEVEL_ERROR)
         fputs(text, stderr);
   };
   ggml_log_set(log, nullptr);
   whisper_log_set(log, nullptr);
   ggml_backend_load_all();

   ModelFile model(seed);
   std::mt19937 random(seed + 1);
   std::vector<float> mel(3000 * bands);
   for (float &value : mel)
      value = int32_t(random()) * 0x1p-31f;
   std::vector<whisper_token> tokens(10);
   for (whisper_token &token : tokens)
      token = random() % vocabulary;

   int passed = 0, failed = 0;
   for (const bool flash_attention : {false, true}) {
      const double bound = flash_attention ? max_nmse_flash : max_nmse;
      printf("%s flash attention, bound on the normalised mean squared error %g\n",
             flash_attention ? "with" : "without", bound);
      const auto expected = compute(model, false, flash_attention, mel, tokens);
      const auto got = compute(model, true, flash_attention, mel, tokens);
      for (size_t i = 0; i < got.size(); i++) {
         const double nmse = normalised_error(got[i], expected[i]);
         const bool right = nmse < bound;
         printf("logits %zu: nmse %.2e  %s\n", i, nmse, right ? "pass" : "FAIL");
         (right ? passed : failed)++;
      }
   }
   printf("%d passed, %d failed\n", passed, failed);
   return passed && !failed ? 0 : 1;
}
