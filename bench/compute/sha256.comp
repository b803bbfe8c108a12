// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A
{
   uint a[];
};
layout(binding = 1) writeonly buffer B
{
   uint b[];
};
const uint K[64] = uint[](
   0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
   0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
   0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
   0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
   0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
   0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
   0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
   0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2);
uint rr(uint x, uint c)
{
   return (x >> c) | (x << (32 - c));
}
void main()
{
   uint i = gl_GlobalInvocationID.x;
   uint w[64];
   uint m = a[i];
   for (uint j = 0; j < 16; j++)
      w[j] = m * (j * 2 + 1) + i;
   for (uint j = 16; j < 64; j++) {
      uint s0 = rr(w[j - 15], 7) ^ rr(w[j - 15], 18) ^ (w[j - 15] >> 3),
           s1 = rr(w[j - 2], 17) ^ rr(w[j - 2], 19) ^ (w[j - 2] >> 10);
      w[j] = w[j - 16] + s0 + w[j - 7] + s1;
   }
   uint A = 0x6a09e667, B = 0xbb67ae85, C = 0x3c6ef372, D = 0xa54ff53a, E = 0x510e527f,
        F = 0x9b05688c, G = 0x1f83d9ab, H = 0x5be0cd19;
   for (uint j = 0; j < 64; j++) {
      uint S1 = rr(E, 6) ^ rr(E, 11) ^ rr(E, 25), ch = (E & F) ^ (~E & G),
           t1 = H + S1 + ch + K[j] + w[j], S0 = rr(A, 2) ^ rr(A, 13) ^ rr(A, 22),
           mj = (A & B) ^ (A & C) ^ (B & C), t2 = S0 + mj;
      H = G;
      G = F;
      F = E;
      E = D + t1;
      D = C;
      C = B;
      B = A;
      A = t1 + t2;
   }
   b[i] = A ^ B ^ C ^ D ^ E ^ F ^ G ^ H;
}
