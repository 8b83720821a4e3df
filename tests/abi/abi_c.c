/* The C ABI as a C11 program sees it: every struct, field and number, held against the golden file of
 * each published version (sdk/abi-history/MAJOR.MINOR/layout.txt).
 *
 *   abi_c print                     the layout as it is now
 *   abi_c check HEADERS LAYOUT..    0 when nothing that was published moved and no field is unlisted here
 *
 * Lines:   struct NAME SIZE    field NAME.FIELD OFFSET SIZE    number NAME VALUE
 * A struct may have grown at its end since an older version; a frozen one may not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/abi/device.h"
#include "tenon/abi/forecast.h"
#include "tenon/abi/op.h"
#include "tenon/abi/optimizer.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/types.h"

enum { STRUCT, FIELD, NUMBER };

typedef struct entry {
  int kind;
  const char* name;
  long long at; /* STRUCT: its size; FIELD: its offset; NUMBER: its value */
  long long size;
} entry;

static const entry entries[] = {
#define S(type) {STRUCT, #type, (long long)sizeof(type), 0},
#define F(type, field) \
  {FIELD, #type "." #field, (long long)offsetof(type, field), (long long)sizeof(((type*)0)->field)},
#define N(name) {NUMBER, #name, (long long)(name), 0},
#include "layout.inc"
};
enum { kEntries = sizeof(entries) / sizeof(entries[0]) };

/* Passed by value or stepped through without a stride: their size is part of the contract for ever. */
static const char* const frozen[] = {"tenon_status", "tenon_scalar", "tenon_array",
                                     "tenon_text",   "tenon_range",  "tenon_point"};

static int failures;

static void fail(const char* what, const char* name, long long expected, long long found) {
  fprintf(stderr, "abi: %s %s: expected %lld, found %lld\n", what, name, expected, found);
  ++failures;
}

static void print_all(void) {
  printf("# Layout and numbers of the C ABI, version %u.%u; written by abi_c print.\n", TENON_ABI_MAJOR,
         TENON_ABI_MINOR);
  for (int i = 0; i < kEntries; ++i) {
    const entry* e = &entries[i];
    if (e->kind == STRUCT) printf("struct %s %lld\n", e->name, e->at);
    if (e->kind == FIELD) printf("field %s %lld %lld\n", e->name, e->at, e->size);
    if (e->kind == NUMBER) printf("number %s %lld\n", e->name, e->at);
  }
}

static const entry* find(int kind, const char* name) {
  for (int i = 0; i < kEntries; ++i)
    if (entries[i].kind == kind && strcmp(entries[i].name, name) == 0) return &entries[i];
  return NULL;
}

static int is_frozen(const char* name) {
  for (size_t i = 0; i < sizeof(frozen) / sizeof(frozen[0]); ++i)
    if (strcmp(frozen[i], name) == 0) return 1;
  return 0;
}

/* Every struct is full: no byte that is no field, so no field can be missing from layout.inc. */
static void check_no_padding(void) {
  for (int i = 0; i < kEntries; ++i) {
    if (entries[i].kind != STRUCT || strcmp(entries[i].name, "tenon_scalar") == 0) continue;
    long long end = 0;
    int field = i + 1;
    for (; field < kEntries && entries[field].kind == FIELD; ++field) {
      if (entries[field].at != end) fail("offset without a gap of", entries[field].name, end, entries[field].at);
      end = entries[field].at + entries[field].size;
    }
    if (end != entries[i].at) fail("end of the last field of", entries[i].name, entries[i].at, end);
  }
}

/* A struct starts with its size and flags, unless it is an element of an array or frozen. */
static void check_sizes_first(void) {
  static const char* const elements[] = {"tenon_unit",   "tenon_verdict", "tenon_allocation", "tenon_event",
                                         "tenon_value",  "tenon_node",    "tenon_attr",       "tenon_input",
                                         "tenon_result", "tenon_constant", "tenon_forecast_kernel",
                                         "tenon_forecast_argument", "tenon_forecast_padding", "tenon_plan_step",
                                         "tenon_plan_buffer", "tenon_plan_value"};
  for (int i = 0; i < kEntries; ++i) {
    if (entries[i].kind != STRUCT || is_frozen(entries[i].name)) continue;
    int element = 0;
    for (size_t k = 0; k < sizeof(elements) / sizeof(elements[0]); ++k)
      element |= strcmp(elements[k], entries[i].name) == 0;
    char first[80];
    snprintf(first, sizeof(first), "%s.struct_size", entries[i].name);
    const entry* size = find(FIELD, first);
    if (!element && (!size || size->at != 0)) fail("struct_size first in", entries[i].name, 0, -1);
    if (element && size) fail("no struct_size in the array element", entries[i].name, -1, size->at);
  }
}

static char* read_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  static const size_t kRoom = 1 << 20;
  char* text = calloc(kRoom + 1, 1);
  if (text && fread(text, 1, kRoom, file) == 0) *text = 0;
  fclose(file);
  return text;
}

static int is_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the C text has the word `name` outside comments at `at`, and copies it out. */
static const char* next_word(const char* at, char* word, size_t room) {
  for (; *at; ++at) {
    if (at[0] == '/' && at[1] == '*') {
      at = strstr(at, "*/");
      if (!at) return NULL;
      ++at;
    } else if (is_name(*at)) {
      size_t n = 0;
      while (is_name(at[n])) ++n;
      snprintf(word, room, "%.*s", (int)n, at);
      return at + n;
    }
  }
  return NULL;
}

static const char* skip_space(const char* at) {
  while (*at == ' ' || *at == '\n') ++at;
  return at;
}

/* Each struct with a body, and each enumerator, of the headers stands in layout.inc. */
static void check_header(const char* folder, const char* name) {
  char path[4096], word[128], before[128] = "";
  snprintf(path, sizeof(path), "%s/tenon/abi/%s", folder, name);
  char* text = read_file(path);
  if (!text) {
    fprintf(stderr, "abi: cannot read %s\n", path);
    ++failures;
    return;
  }
  for (const char* at = text; (at = next_word(at, word, sizeof(word)));) {
    const char* after = skip_space(at);
    int is_struct = strcmp(before, "struct") == 0 || strcmp(before, "union") == 0;
    if (is_struct && *after == '{' && !find(STRUCT, word)) fail("in layout.inc the struct", word, 1, 0);
    int is_number = strncmp(word, "TENON_", 6) == 0 && *after == '=';
    if (is_number && !find(NUMBER, word)) fail("in layout.inc the number", word, 1, 0);
    strcpy(before, word);
  }
  free(text);
}

static void check_line(const char* line, int current) {
  char kind[16], name[128];
  long long at = 0, size = 0;
  int n = sscanf(line, "%15s %127s %lld %lld", kind, name, &at, &size);
  if (n < 3 || kind[0] == '#') return;
  const entry* e = find(strcmp(kind, "struct") == 0 ? STRUCT : strcmp(kind, "field") == 0 ? FIELD : NUMBER, name);
  if (!e) {
    fail("published, still there:", name, 1, 0);
  } else if (e->kind == STRUCT) {
    int may_grow = !current && !is_frozen(name);
    if (may_grow ? e->at < at : e->at != at) fail("size of", name, at, e->at);
  } else {
    if (e->at != at) fail(e->kind == FIELD ? "offset of" : "value of", name, at, e->at);
    if (e->kind == FIELD && e->size != size) fail("size of", name, size, e->size);
  }
}

/* Lines of the golden file of the present version: as many as there are entries, so none is new. */
static int check_golden(const char* path) {
  char mark[64];
  snprintf(mark, sizeof(mark), "%u.%u/layout.txt", TENON_ABI_MAJOR, TENON_ABI_MINOR);
  const int current = strstr(path, mark) != NULL;
  FILE* file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "abi: cannot read %s\n", path);
    ++failures;
    return current;
  }
  char line[512];
  int lines = 0;
  while (fgets(line, sizeof(line), file)) {
    if (line[0] == '#') continue;
    ++lines;
    /* The version itself is the one number that changes. */
    if (current || !strstr(line, "TENON_ABI_MINOR")) check_line(line, current);
  }
  fclose(file);
  if (current && lines != kEntries) fail("entries in", path, kEntries, lines);
  return current;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "print") == 0) {
    print_all();
    return 0;
  }
  if (argc < 4 || strcmp(argv[1], "check") != 0) {
    fprintf(stderr, "usage: abi_c print | abi_c check HEADERS GOLDEN..\n");
    return 2;
  }
  check_no_padding();
  check_sizes_first();
  static const char* const headers[] = {"types.h", "op.h", "optimizer.h", "device.h", "plugin.h", "forecast.h"};
  for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); ++i) check_header(argv[2], headers[i]);
  int current = 0;
  for (int i = 3; i < argc; ++i) current |= check_golden(argv[i]);
  if (!current) fail("a golden file of the present minor version", "", 1, 0);
  printf("abi: %d entries, %d failures\n", kEntries, failures);
  return failures ? 1 : 0;
}
