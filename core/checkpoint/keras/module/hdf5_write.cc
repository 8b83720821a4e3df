// hdf5.so: a file of groups and datasets whose bytes are to come, and what both halves use.
#include <cstring>
#include <set>

#include "checkpoint/keras/module/hdf5_module.h"

namespace tenon::hdf5 {

std::string last_error() {
  std::string out = "is damaged";
  const auto note = [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
    if (error->desc && *error->desc) *static_cast<std::string*>(data) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, note, &out);
  return out;
}

void expect(bool ok) {
  if (!ok) throw Refused{last_error()};
}

// Filters are code: none is loaded.
void set_up() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

namespace {

hid_t type_of(Hdf5Type type) {
  switch (type) {
    case Hdf5Type::kF32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case Hdf5Type::kF64:
      return H5Tcopy(H5T_IEEE_F64LE);
    case Hdf5Type::kU8:
      return H5Tcopy(H5T_STD_U8LE);
    case Hdf5Type::kI32:
      return H5Tcopy(H5T_STD_I32LE);
    case Hdf5Type::kI64:
      return H5Tcopy(H5T_STD_I64LE);
    case Hdf5Type::kF16: {
      const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
      H5Tset_fields(half, 15, 10, 5, 0, 10);
      H5Tset_size(half, 2);
      H5Tset_ebias(half, 15);
      return half;
    }
    case Hdf5Type::kBF16: {  // as h5py writes it
      const hid_t opaque = H5Tcreate(H5T_OPAQUE, 2);
      H5Tset_tag(opaque, "NUMPY:|V2");
      return opaque;
    }
    case Hdf5Type::kBool: {
      const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
      const int8_t no = 0, yes = 1;
      H5Tenum_insert(boolean, "FALSE", &no);
      H5Tenum_insert(boolean, "TRUE", &yes);
      return boolean;
    }
    default:
      throw Refused{"a type that it does not have"};
  }
}

// One is a scalar, as Keras's names of layers are.
void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts) {
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  expect(H5Tset_size(type, H5T_VARIABLE) >= 0);
  expect(H5Tset_cset(type, H5T_CSET_UTF8) >= 0);
  const hsize_t count = texts.size();
  const SpaceHandle space(count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr));
  const AttributeHandle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
  std::vector<const char*> values;
  for (const std::string& text : texts) values.push_back(text.c_str());
  expect(H5Awrite(attribute, type, values.data()) >= 0);
}

void write_dataset(hid_t file, hid_t links, Hdf5Dataset* d) {
  const TypeHandle type(type_of(d->type));
  const std::vector<hsize_t> dims(d->dims.begin(), d->dims.end());
  const SpaceHandle space(dims.empty() ? H5Screate(H5S_SCALAR)
                                       : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const ListHandle list(H5Pcreate(H5P_DATASET_CREATE));
  expect(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0);
  expect(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0);
  expect(H5Pset_obj_track_times(list, false) >= 0);
  const DatasetHandle dataset(H5Dcreate2(file, d->path.c_str(), type, space, links, list, H5P_DEFAULT));
  if (d->type == Hdf5Type::kBF16) write_texts(dataset, "dtype", {"bfloat16"});
  if (d->bytes == 0) return;
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) throw Refused{"no place for dataset '" + d->path + "'"};
  d->offset = static_cast<int64_t>(offset);
}

void write(int file, Hdf5Index* index) {
  const ListHandle access(H5Pcreate(H5P_FILE_ACCESS));
  use_descriptors(access);
  const FileHandle out(H5Fcreate(std::to_string(file).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
  const ListHandle links(H5Pcreate(H5P_LINK_CREATE));
  expect(H5Pset_create_intermediate_group(links, 1) >= 0);
  std::set<std::string> made;
  for (const Hdf5Names& a : index->attributes) {
    const GroupHandle group(made.insert(a.path).second
                                ? H5Gcreate2(out, a.path.c_str(), links, H5P_DEFAULT, H5P_DEFAULT)
                                : H5Gopen2(out, a.path.c_str(), H5P_DEFAULT));
    write_texts(group, a.name, a.values);
  }
  for (Hdf5Dataset& d : index->datasets) write_dataset(out, links, &d);
}

}  // namespace
}  // namespace tenon::hdf5

extern "C" __attribute__((visibility("default"))) unsigned tenon_hdf5_version() { return kHdf5Version; }

extern "C" __attribute__((visibility("default"))) bool tenon_hdf5_write(int file, tenon::Hdf5Index* index,
                                                                        std::string* why) {
  return tenon::hdf5::guarded(why, [&] { tenon::hdf5::write(file, index); });
}
