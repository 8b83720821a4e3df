/* Tenon plugin ABI: the two tables and the one exported symbol.
 *
 * A backend is a shared library that exports `tenon_backend_init` and carries an ELF note (section
 * `.note.tenon`, owner "Tenon", type 1) with three uint32_t: ABI major, ABI minor, least host minor.
 * The core reads the note from the file before it runs any of the library's code.
 *
 * A backend is a guest of the process. Nothing of it throws across the ABI, aborts, exits or forks (posix_spawn is no fork).
 * Each entry, and each function of a gang, leaves as it was what the process or the thread has: rounding and denormal modes,
 * signal masks and handlers, locale, umask, environment, current directory. Threads that it starts work for a device, end
 * before that one's device_close returns, take no signals, and call nothing of the host's. Threads of a driver's may live as
 * long as the process, silent.
 */
#ifndef TENON_ABI_PLUGIN_H
#define TENON_ABI_PLUGIN_H

#include "tenon/abi/device.h"
#include "tenon/abi/optimizer.h"

#define TENON_NOTE_SECTION ".note.tenon"
#define TENON_NOTE_OWNER "Tenon"
#define TENON_NOTE_TYPE 1u

typedef enum tenon_log_level { TENON_LOG_DEBUG = 0, TENON_LOG_INFO = 1, TENON_LOG_WARNING = 2, TENON_LOG_ERROR = 3 } tenon_log_level;

typedef struct tenon_backend tenon_backend;

/* What the host offers. Any entry may be NULL. Called only from threads inside an entry of the backend or inside a
 * gang, never under a lock; from several threads at once. Lives for ever. Messages of its statuses live until this
 * thread's next call into the host. */
typedef struct tenon_host {
  uint64_t struct_size;
  uint64_t flags;
  uint32_t abi_major, abi_minor;
  void* ctx;
  const char* name;    /* of the program that loads backends: "tenon" */
  const char* version; /* "0.1.0" */
  void (*log)(void* ctx, int32_t level, const char* text);
  uint32_t threads; /* cores to use; 0 unknown */
  uint32_t reserved;
  /* fn(arg, index, count) on count <= want threads that truly run at once; the caller is index 0; returns count,
   * when all have returned. count varies from call to call; results must not depend on it. fn throws nothing. Inside
   * a gang, and while another thread has one, it is called on the caller alone: nobody waits for threads. */
  uint32_t (*gang)(void* ctx, uint32_t want, void (*fn)(void* arg, uint32_t index, uint32_t count), void* arg);
  /* A small persistent store for compiled code and what was measured; the core adds the plugin file's hash to the
   * key, the driver's version and the units belong into it. Keys have 1 to 4095 bytes, an entry with its key at most
   * 16 MiB: what is larger is TENON_INVALID. The store forgets when it likes, and what it gives was put as it is.
   * get: *bytes is the room in, the size out; data NULL asks for the size alone; too little room: TENON_INVALID, and
   * data stays as it was; TENON_UNAVAILABLE: a miss. */
  tenon_status (*cache_get)(void* ctx, const char* key, void* data, uint64_t* bytes);
  tenon_status (*cache_put)(void* ctx, const char* key, const void* data, uint64_t bytes);
  /* Another backend by name, for those that stand on one: its table, whose struct_size `out` has before as the room
   * that there is. No cycles. */
  tenon_status (*open_backend)(void* ctx, const char* name, tenon_backend* out);
} tenon_host;

struct tenon_backend {
  uint64_t struct_size;
  uint64_t flags;
  uint32_t abi_major, abi_minor;
  void* self;
  const char* name;    /* "cpu" */
  const char* version; /* "1.0.0" */

  /* Units for `spec` (NULL = default). *count: room in, out how many there are; units NULL only counts. None:
   * TENON_UNAVAILABLE and why. */
  tenon_status (*enumerate)(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count);
  /* May take seconds. Units can be opened again, while they are open and after device_close; TENON_DEVICE_LOST: not
   * in this process. */
  tenon_status (*device_open)(void* self, const tenon_open* open, tenon_device** out);
  void (*device_close)(tenon_device* device);

  /* Pure: the answer for nodes[i] depends on the options, that node, its attributes and its values alone, and is the
   * same each time. */
  tenon_status (*supports)(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                           const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride);
  /* Keeps no pointer into the graph. Reserves all that run needs on one queue; a run on a second one may be
   * serialised, or its first meet TENON_OUT_OF_MEMORY. */
  tenon_status (*compile)(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                          tenon_program** out, tenon_info* info);
  void (*program_destroy)(tenon_program* program);

  /* Undefined contents. *host: the memory of a HOST buffer, mapped until buffer_free; else NULL. HOST may be refused
   * (device.h), all else that fits may not. */
  tenon_status (*buffer_alloc)(tenon_device* device, const tenon_desc* desc, tenon_buffer** out, void** host);
  void (*buffer_free)(tenon_buffer* buffer);

  /* A queue starts and completes its work in order and needs no further call for it. Its tickets grow and are never
   * 0; a call that fails gives none. A failure of its work sticks: copy, run and wait on it, and what waits for it,
   * answer with the first cause's code and text from then on, and other queues go on. TENON_DEVICE_LOST sticks to
   * the device. No flags of a queue are defined. */
  tenon_status (*queue_create)(tenon_device* device, uint64_t flags, tenon_queue** out);
  void (*queue_destroy)(tenon_queue* queue);
  tenon_status (*copy)(tenon_queue* queue, const tenon_copy* copy, uint64_t* ticket);
  /* *done: iterations completed or submitted; 0 where run is refused. Less than were asked for: the feed stopped, an
   * UNTIL came true, or the run fails, as wait then says. With feed or UNTIL run returns when it knows `done`. */
  tenon_status (*run)(tenon_queue* queue, const tenon_run* run, uint64_t* ticket, uint32_t* done);
  /* This and all earlier tickets. 0 polls, UINT64_MAX waits for ever, else TENON_TIMEOUT. A ticket that was not given:
   * TENON_INVALID. */
  tenon_status (*wait)(tenon_queue* queue, uint64_t ticket, uint64_t timeout_ns);

  /* optional: NULL where absent */
  tenon_status (*stats)(tenon_device* device, tenon_stats* out);
  /* Events of programs compiled with TENON_OPTION_TRACE. A device has one sink at a time, a second is TENON_INVALID.
   * It is borrowed until it is ended: NULL flushes and ends, after which nothing is emitted; device_close ends it
   * too. */
  tenon_status (*trace)(tenon_device* device, const tenon_sink* sink);
  /* The extension of that name in exactly that version, whose header says what it is; NULL: not offered. Lives for ever. */
  const void* (*extension)(void* self, const char* name, uint32_t version);
  /* What failed on this queue: code, place and text. Any thread, while the queue lives. */
  tenon_status (*error_info)(tenon_queue* queue, tenon_error* out);
  tenon_status (*facts)(tenon_device* device, tenon_facts* out);
  /* What compile decided: the steps of an iteration and their memory. Fills *out up to its struct_size. */
  tenon_status (*describe)(const tenon_program* program, tenon_plan* out);
};

#ifdef __cplusplus
extern "C" {
#endif
/* Fills `out` up to its struct_size and sets struct_size to what it filled. Both tables live for ever. The core
 * calls it once in a process, before all else of the backend; a host that calls it again, with the same table, one
 * call at a time, gets the same answer. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out);
#ifdef __cplusplus
}
#endif

#endif
