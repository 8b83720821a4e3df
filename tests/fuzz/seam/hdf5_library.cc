#include "hdf5_library.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/keras/module/hdf5_module.h"

namespace tenon::fuzz {
namespace {

// What an identifier stands for; an attribute and a dataset keep their type and space.
struct Thing {
  H5I_type_t kind = H5I_BADID;
  hid_t type = -1, space = -1;
  H5T_class_t type_class = H5T_NO_CLASS;
  size_t size = 0;
  bool variable = false;
  std::vector<hsize_t> dims;
  H5S_class_t extent = H5S_SIMPLE;
};

std::string_view answers;
std::vector<Thing> things;
char no_text[] = "", some_text[] = "dense", long_text[] = "bfloat16";

uint64_t next(size_t bytes) {
  uint64_t out = 0;
  const size_t n = std::min(bytes, answers.size());
  if (n > 0) std::memcpy(&out, answers.data(), n);
  answers.remove_prefix(n);
  return out;
}
bool seldom() { return next(1) == 0xff; }

// One of 16 with few bits, so that sizes meet, or any.
uint64_t size() {
  const uint64_t how = next(1);
  return how < 0xf0 ? how % 16 : next(8);
}

std::string name() {
  static constexpr const char* kNames[] = {"layers", "dense", "vars", "0", "1", "optimizer", "cell", "model_weights"};
  const uint64_t which = next(1);
  if (which < 0xe0) return kNames[which % 8];
  return std::string(which == 0xff ? 5000 : which % 8, static_cast<char>(next(1) | 1));
}

hid_t add(Thing thing) {
  if (things.size() > 100'000) return -1;  // in the time that a run may take
  things.push_back(std::move(thing));
  return static_cast<hid_t>(things.size());
}
Thing& of(hid_t id) {
  static Thing none;
  return id >= 1 && id <= static_cast<hid_t>(things.size()) ? things[static_cast<size_t>(id) - 1] : none;
}

hid_t add_type() {
  static constexpr size_t kSizes[] = {4, 8, 2, 1, 0, 3, 16, 4096};
  Thing type{.kind = H5I_DATATYPE, .size = 0, .dims = {}};
  type.type_class = static_cast<H5T_class_t>(static_cast<int>(next(1) % 13) - 1);
  const uint64_t how = next(1);
  type.size = how < 0xf8 ? kSizes[how % 8] : next(8);
  type.variable = type.type_class == H5T_STRING && how % 2 == 0;
  return add(type);
}

hid_t add_space() {
  Thing space{.kind = H5I_DATASPACE, .dims = {}};
  const uint64_t how = next(1);
  for (uint64_t rank = how < 0xf0 ? how % 4 : how % 33; rank > 0; --rank) space.dims.push_back(size());
  if (how == 0xff) space.extent = H5S_NULL;
  return add(space);
}

uint64_t points(const Thing& space) {
  uint64_t out = 1;
  for (const hsize_t dim : space.dims)
    if (__builtin_mul_overflow(out, dim, &out)) return UINT64_MAX;
  return out;
}

hid_t add_object(H5I_type_t kind) {
  Thing object{.kind = kind, .dims = {}};
  object.type = add_type(), object.space = add_space();
  return add(object);
}

hid_t native(size_t size, H5T_class_t type_class) {
  Thing type{.kind = H5I_DATATYPE, .type_class = type_class, .size = size, .dims = {}};
  return add(type);
}

}  // namespace

void set_hdf5_answers(std::string_view bytes) {
  answers = bytes;
  things.clear();
  H5P_CLS_FILE_ACCESS_ID_g = add({.kind = H5I_GENPROP_CLS, .dims = {}});
  H5T_NATIVE_DOUBLE_g = native(8, H5T_FLOAT), H5T_NATIVE_FLOAT_g = native(4, H5T_FLOAT);
  H5T_NATIVE_INT64_g = native(8, H5T_INTEGER), H5T_NATIVE_INT32_g = native(4, H5T_INTEGER);
  H5T_NATIVE_UINT8_g = native(1, H5T_INTEGER);
}

}  // namespace tenon::fuzz

// What hdf5_driver.cc does with the library.
namespace tenon::hdf5 {
std::string last_error() { return "is damaged"; }
void expect(bool ok) {
  if (!ok) throw Refused{last_error()};
}
void set_up() {}
void use_descriptors(hid_t) {}
}  // namespace tenon::hdf5

using namespace tenon::fuzz;

extern "C" {

hid_t H5P_CLS_FILE_ACCESS_ID_g, H5T_NATIVE_DOUBLE_g, H5T_NATIVE_FLOAT_g, H5T_NATIVE_INT64_g, H5T_NATIVE_INT32_g,
    H5T_NATIVE_UINT8_g;
herr_t H5open() { return 0; }
herr_t H5check_version(unsigned, unsigned, unsigned) { return 0; }

herr_t H5Fclose(hid_t) { return 0; }
herr_t H5Oclose(hid_t) { return 0; }
herr_t H5Gclose(hid_t) { return 0; }
herr_t H5Dclose(hid_t) { return 0; }
herr_t H5Sclose(hid_t) { return 0; }
herr_t H5Tclose(hid_t) { return 0; }
herr_t H5Pclose(hid_t) { return 0; }
herr_t H5Aclose(hid_t) { return 0; }

// ---- files, groups ----

hid_t H5Pcreate(hid_t) { return add({.kind = H5I_GENPROP_LST, .dims = {}}); }
hid_t H5Fopen(const char*, unsigned, hid_t) { return seldom() ? -1 : add({.kind = H5I_FILE, .dims = {}}); }
hid_t H5Gopen2(hid_t, const char*, hid_t) { return seldom() ? -1 : add({.kind = H5I_GROUP, .dims = {}}); }
hid_t H5Oopen(hid_t, const char*, hid_t) {
  const uint64_t what = next(1);
  if (what == 0xff) return -1;
  return add_object(what % 8 == 7 ? H5I_DATATYPE : what % 2 == 0 ? H5I_GROUP : H5I_DATASET);
}
H5I_type_t H5Iget_type(hid_t id) { return of(id).kind; }
herr_t H5Oget_info(hid_t, H5O_info_t* info) {
  info->addr = next(2);
  info->num_attrs = size() % (1 << 20);
  return seldom() ? -1 : 0;
}
herr_t H5Literate(hid_t group, H5_index_t, H5_iter_order_t, hsize_t*, H5L_iterate_t take, void* data) {
  for (uint64_t left = next(1) % 16; left > 0; --left) {
    H5L_info_t link{};
    const uint64_t kind = next(1);
    link.type = kind < 0xf8 ? H5L_TYPE_HARD : kind % 2 == 0 ? H5L_TYPE_SOFT : H5L_TYPE_EXTERNAL;
    const std::string text = name();
    if (const herr_t said = take(group, text.c_str(), &link, data); said != 0) return said;
  }
  return 0;
}

// ---- attributes ----

hid_t H5Aopen_by_idx(hid_t, const char*, H5_index_t, H5_iter_order_t, hsize_t, hid_t, hid_t) {
  return seldom() ? -1 : add_object(H5I_ATTR);
}
ssize_t H5Aget_name(hid_t, size_t bytes, char* to) {
  static constexpr const char* kNames[] = {"name", "dtype", "layer_names", "weight_names", "weight_names0", "other"};
  const std::string text = kNames[next(1) % 6];
  const size_t n = std::min(bytes - 1, text.size());
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
  return static_cast<ssize_t>(text.size());
}
hid_t H5Aget_type(hid_t attribute) { return of(attribute).type; }
hid_t H5Aget_space(hid_t attribute) { return of(attribute).space; }
herr_t H5Aread(hid_t attribute, hid_t type, void* to) {
  if (seldom()) return -1;
  const uint64_t count = points(of(of(attribute).space));
  if (of(type).variable) {
    char* const texts[] = {nullptr, no_text, some_text, long_text};
    for (uint64_t i = 0; i < count; ++i) static_cast<char**>(to)[i] = texts[next(1) % 4];
  } else {
    std::memset(to, static_cast<int>(next(1)), count * of(type).size);
  }
  return 0;
}

// ---- spaces, types ----

hssize_t H5Sget_simple_extent_npoints(hid_t space) {
  return static_cast<hssize_t>(std::min<uint64_t>(points(of(space)), INT64_MAX));
}
int H5Sget_simple_extent_ndims(hid_t space) { return static_cast<int>(of(space).dims.size()); }
int H5Sget_simple_extent_dims(hid_t space, hsize_t dims[], hsize_t*) {
  std::copy(of(space).dims.begin(), of(space).dims.end(), dims);
  return static_cast<int>(of(space).dims.size());
}
H5S_class_t H5Sget_simple_extent_type(hid_t space) { return of(space).extent; }
H5T_class_t H5Tget_class(hid_t type) { return of(type).type_class; }
size_t H5Tget_size(hid_t type) { return of(type).size; }
htri_t H5Tis_variable_str(hid_t type) { return of(type).variable; }
H5T_order_t H5Tget_order(hid_t) { return next(1) % 4 == 0 ? H5T_ORDER_BE : H5T_ORDER_LE; }
H5T_sign_t H5Tget_sign(hid_t) { return next(1) % 2 == 0 ? H5T_SGN_2 : H5T_SGN_NONE; }
int H5Tget_nmembers(hid_t) { return static_cast<int>(next(1) % 4); }
herr_t H5Tget_fields(hid_t, size_t* sign, size_t* exponent, size_t* exponent_size, size_t* mantissa,
                     size_t* mantissa_size) {
  static constexpr size_t kExponents[] = {8, 11, 5, 8}, kMantissas[] = {23, 52, 10, 7};
  const uint64_t which = next(1) % 4;
  *sign = *exponent = *mantissa = 0;
  *exponent_size = kExponents[which], *mantissa_size = kMantissas[which];
  return seldom() ? -1 : 0;
}
htri_t H5Tequal(hid_t, hid_t) { return next(1) % 2 == 0; }

// ---- datasets ----

hid_t H5Dget_type(hid_t dataset) { return of(dataset).type; }
hid_t H5Dget_space(hid_t dataset) { return of(dataset).space; }
hid_t H5Dget_create_plist(hid_t) { return add({.kind = H5I_GENPROP_LST, .dims = {}}); }
haddr_t H5Dget_offset(hid_t) { return next(1) % 2 == 0 ? HADDR_UNDEF : next(8); }
hsize_t H5Dget_storage_size(hid_t) { return size(); }
// As many bytes as the shape has.
herr_t H5Dread(hid_t dataset, hid_t type, hid_t, hid_t, hid_t, void* to) {
  if (seldom()) return -1;
  std::memset(to, static_cast<int>(next(1)), points(of(of(dataset).space)) * of(type).size);
  return 0;
}

H5D_layout_t H5Pget_layout(hid_t) {
  static constexpr H5D_layout_t kLayouts[] = {H5D_CONTIGUOUS, H5D_CHUNKED, H5D_COMPACT, H5D_CONTIGUOUS};
  const uint64_t which = next(1);
  return which == 0xff ? H5D_VIRTUAL : kLayouts[which % 4];
}
int H5Pget_external_count(hid_t) { return seldom(); }
int H5Pget_nfilters(hid_t) { return static_cast<int>(next(1) % 4); }
H5Z_filter_t H5Pget_filter2(hid_t, unsigned, unsigned*, size_t*, unsigned[], size_t, char[], unsigned*) {
  static constexpr H5Z_filter_t kFilters[] = {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32, -1, 32000};
  const uint64_t which = next(1);
  return kFilters[which < 0xf0 ? which % 3 : which % 5];
}
int H5Pget_chunk(hid_t, int most, hsize_t dims[]) {
  const int said = static_cast<int>(next(1) % 4), rank = seldom() ? -1 : std::min(most, said);
  for (int i = 0; i < rank; ++i) dims[i] = size();
  return rank;
}

}  // extern "C"
