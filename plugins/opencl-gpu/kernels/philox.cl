// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#define PHILOX_ROUND(c, low, high)                                                                                      \
  c = (uint4)(mul_hi(0xCD9E8D57u, c.z) ^ c.y ^ (low), 0xCD9E8D57u * c.z, mul_hi(0xD2511F53u, c.x) ^ c.w ^ (high), \
              0xD2511F53u * c.x)

// Four random words of element block `block` of a stream.
inline uint4 philox(uint block, uint stream, ulong step, ulong seed) {
  uint4 c = (uint4)(block, stream, (uint)step, (uint)(step >> 32));
  uint low = (uint)seed, high = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round, low += 0x9E3779B9u, high += 0xBB67AE85u) PHILOX_ROUND(c, low, high);
  return c;
}
