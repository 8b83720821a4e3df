/* Tenon plugin ABI, version 1: numbers and small types shared by all of it.
 *
 * The contract between the core and a backend: C11, 64-bit little-endian ELF, nothing but <stdint.h>
 * and <stddef.h>. The rules that hold everywhere:
 *
 *  - Every struct starts with `uint64_t struct_size`, set by whoever fills it to the offset of the
 *    end of the last field it knows (TENON_SIZE). Readers and writers touch the smaller of that and
 *    their own size; what is missing reads as zero. Elements of arrays have no struct_size: arrays
 *    carry their stride, and are stepped by it, never by sizeof.
 *  - `flags` passed in: bits 0-31 must be understood (an unknown one: TENON_UNSUPPORTED), bits 32-63
 *    are hints and may be ignored. Zero in any field means the default or nothing.
 *  - `flags` of what comes out: the caller sets them as those passed in, to ask; the backend writes them anew. A reader that
 *    does not know a low bit there does without the struct or element, as if it had not come.
 *  - Pointers to what an entry gives, `out`, `host`, `info`, `ticket`, `done`, `count`, are never NULL. After an error what they
 *    point to is as it was, unless said otherwise.
 *  - `reserved` is written as zero and not read.
 *  - Strings are UTF-8, NUL-terminated. They, structs and arrays that are passed in are borrowed for the call, unless said
 *    otherwise: `copy`, `run`, `compile` keep no pointer to `after`, `scalars`, handles' arrays, options or graphs.
 *  - Structs to fill come with struct_size set, to the room that there is, and zeros behind it and the flags; the backend leaves
 *    struct_size alone. The two tables of plugin.h are the exception. Elements of arrays to fill come as zeros.
 *  - Names with a dot, of ops, attributes and extensions, belong to whom the part before the dot names: "tenon." is Tenon's,
 *    "acme.moe" Acme's. Names without one are Tenon's.
 *  - Types marked "frozen" never change; everything else only grows at its end.
 */
#ifndef TENON_ABI_TYPES_H
#define TENON_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define TENON_ABI_MAJOR 1u
#define TENON_ABI_MINOR 0u

/* The struct_size of a struct whose last known field is `field`. */
#define TENON_SIZE(type, field) (offsetof(type, field) + sizeof(((type*)0)->field))

/* Whether the struct behind `p` is large enough to hold `field`. */
#define TENON_HAS(p, type, field) ((p)->struct_size >= TENON_SIZE(type, field))

typedef enum tenon_code {
  TENON_OK = 0,
  TENON_INVALID = 1,       /* the caller's arguments are wrong */
  TENON_UNSUPPORTED = 2,   /* understood, but not possible here; the message says why */
  TENON_UNAVAILABLE = 3,   /* no such hardware or entry */
  TENON_OUT_OF_MEMORY = 4,
  TENON_DEVICE_LOST = 5,   /* close the device; open it again */
  TENON_TIMEOUT = 6,
  TENON_ABI = 7,           /* the other side broke this contract */
  TENON_INTERNAL = 8       /* a bug; codes unknown to the reader count as this one */
} tenon_code;

/* Frozen. Returned by value. An error returned means that nothing happened; what fails later shows in wait. */
typedef struct tenon_status {
  int32_t code;        /* tenon_code */
  int32_t native;      /* the vendor's own number, for the log; 0 none */
  /* One line; of compile perhaps a report behind it. An error has one, TENON_TIMEOUT need not. Lives until this
   * thread's next call into that backend. */
  const char* message;
} tenon_status;

/* Element types. The numbers never change; those from 0x40000000 to INT32_MAX are for vendors, no version gives them
 * away, here and in every other enum. In 1.0 a vendor's dtype has no width that the core knows: it stays within a
 * vendor's own ops, and neither inputs nor results of a graph have it. */
typedef enum tenon_dtype {
  TENON_F32 = 1,
  TENON_BF16 = 2,
  TENON_F16 = 3,
  TENON_F64 = 4,
  TENON_I32 = 5,
  TENON_I64 = 6,
  TENON_U8 = 7,
  TENON_BOOL = 8 /* one byte, 0 or 1 */
} tenon_dtype;

#define TENON_MAX_RANK 8

/* Frozen. A run-time scalar of one iteration; the scalar's dtype says which member. */
typedef union tenon_scalar {
  double f64; /* f32, bf16, f16, f64 */
  int64_t i64; /* i32, i64, u8, bool */
  uint64_t u64;
} tenon_scalar;

/* Frozen. A slice of a graph's data: `count` elements of `stride` bytes from byte `at`. */
typedef struct tenon_array {
  uint64_t at;
  uint32_t count;
  uint32_t stride;
} tenon_array;

/* Frozen. A string of a graph: `size` bytes from byte `at` of its strings, then a NUL. */
typedef struct tenon_text {
  uint32_t at;
  uint32_t size;
} tenon_text;

/* Frozen. `count` consecutive elements from index `first` of one of a graph's arrays. */
typedef struct tenon_range {
  uint32_t first;
  uint32_t count;
} tenon_range;

/* Opaque, owned by the backend that made them. */
typedef struct tenon_device tenon_device;
typedef struct tenon_buffer tenon_buffer;
typedef struct tenon_queue tenon_queue;
typedef struct tenon_program tenon_program;

/* Frozen. A moment of a queue of the same device: `ticket` and all earlier ones are done. */
typedef struct tenon_point {
  tenon_queue* queue;
  uint64_t ticket;
} tenon_point;

#endif
