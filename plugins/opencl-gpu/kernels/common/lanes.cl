// Vectors of CPU devices, in front of kernels. -D VW: elements, W_VECTOR: the name of W as OpenCL C has it.
#define V JOIN(W_VECTOR, VW)
#define GET JOIN(vload, VW)
#ifdef __clang__  // PoCL's vstore16 stores four quarters, for which a load soon after waits
typedef V Unaligned __attribute__((aligned(4)));
#define PUT(x, j, p) (*(__global Unaligned*)((p) + (j)*VW) = (x))
#else
#define PUT JOIN(vstore, VW)
#endif
