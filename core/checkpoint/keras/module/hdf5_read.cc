// hdf5.so: what is in a file. Nothing is followed out of it, no filter is loaded, and sizes are held against what the file stores.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "checkpoint/keras/module/hdf5_module.h"

namespace tenon::hdf5 {
namespace {

constexpr int kMostDepth = 64;
constexpr size_t kMostName = 4096;
constexpr int64_t kMostNames = 1 << 16, kMostNameBytes = 1 << 24;  // in attributes
constexpr int64_t kMostOfStored = 2048;                            // times what is stored; deflate gives 1032
constexpr int64_t kSmall = 1 << 16;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::string why;
  (why.append(parts), ...);
  throw Refused{why};
}

std::string quoted(const std::string& path) {
  return "'" + (path.size() > 80 ? path.substr(0, 80) + ".." : path) + "'";
}

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "/" + name; }

bool is_wanted(const std::string& attribute) {
  return attribute == "name" || attribute == "dtype" || attribute.starts_with("layer_names") ||
         attribute.starts_with("weight_names");
}

class Reader {
 public:
  Reader(int file, int decoded, int64_t most, Hdf5Index* out)
      : list_(H5Pcreate(H5P_FILE_ACCESS)), decoded_(decoded), most_(most), out_(out), file_(open(file)) {}

  void run() {
    const GroupHandle root(H5Gopen2(file_, "/", H5P_DEFAULT));
    walk(root, "", 0);
  }

 private:
  hid_t open(int file) {
    use_descriptors(list_);
    return H5Fopen(std::to_string(file).c_str(), H5F_ACC_RDONLY, list_);
  }

  void walk(hid_t group, const std::string& path, int depth) {
    if (depth > kMostDepth) refuse("groups lie more than ", std::to_string(kMostDepth), " deep");
    H5O_info_t info{};
    expect(H5Oget_info(group, &info) >= 0);
    if (!seen_.insert(info.addr).second) refuse("group ", quoted(path), " is there twice");
    take_attributes(group, path);
    for (const std::string& name : names_of(group, path)) {
      const std::string at = joined(path, name);
      const ObjectHandle object(H5Oopen(group, name.c_str(), H5P_DEFAULT));
      switch (H5Iget_type(object)) {
        case H5I_GROUP:
          walk(object, at, depth + 1);
          break;
        case H5I_DATASET:
          take_dataset(object, at);
          break;
        default:
          refuse(quoted(at), " is neither a group nor a dataset");
      }
    }
  }

  struct Names {
    std::vector<std::string> names;
    std::string bad;
    int64_t left;
  };

  static herr_t note_link(hid_t, const char* name, const H5L_info_t* link, void* data) {
    Names& names = *static_cast<Names*>(data);
    if (link->type != H5L_TYPE_HARD) {
      names.bad = link->type == H5L_TYPE_EXTERNAL ? "a link to another file"
                  : link->type == H5L_TYPE_SOFT   ? "a soft link"
                                                  : "a link of an unknown kind";
      names.names = {name};
      return 1;
    }
    if (--names.left < 0 || std::strlen(name) > kMostName) return -1;
    names.names.emplace_back(name);
    return 0;
  }

  std::vector<std::string> names_of(hid_t group, const std::string& path) {
    Names names{{}, {}, left_};
    const herr_t status = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_link, &names);
    if (!names.bad.empty()) refuse(quoted(joined(path, names.names[0])), " is ", names.bad, ", which is not followed");
    if (names.left < 0) refuse("it has more than ", std::to_string(kMostHdf5Objects), " objects");
    if (status < 0) expect(false);
    left_ = names.left;
    std::sort(names.names.begin(), names.names.end());
    return std::move(names.names);
  }

  // ---- attributes ----

  void take_attributes(hid_t object, const std::string& path) {
    H5O_info_t info{};
    expect(H5Oget_info(object, &info) >= 0);
    if (info.num_attrs > 1 << 16) refuse(quoted(path), " has ", std::to_string(info.num_attrs), " attributes");
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
      const AttributeHandle attribute(
          H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT));
      char name[256];
      expect(H5Aget_name(attribute, sizeof name, name) >= 0);
      if (is_wanted(name)) take_names(attribute, path, name);
    }
  }

  void take_names(hid_t attribute, const std::string& path, const std::string& name) {
    const TypeHandle type(H5Aget_type(attribute));
    const SpaceHandle space(H5Aget_space(attribute));
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    expect(count >= 0);
    if (count > kMostNames)
      refuse("attribute '", name, "' of ", quoted(path), " has ", std::to_string(count), " names");
    Hdf5Names names{path, name, {}};
    if (H5Tget_class(type) == H5T_STRING && count > 0)
      names.values = strings_of(attribute, type, static_cast<size_t>(count));
    else if (count > 0)
      return;  // of numbers; Keras writes none as an empty list of them
    out_->attributes.push_back(std::move(names));
  }

  std::vector<std::string> strings_of(hid_t attribute, hid_t type, size_t count) {
    std::vector<std::string> out;
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> texts(count);
      expect(H5Aread(attribute, type, texts.data()) >= 0);
      for (char* text : texts) {
        out.emplace_back(text ? text : "");
        account(out.back().size());
      }
      return out;  // what the library gave goes with the process
    }
    const size_t size = H5Tget_size(type);
    expect(size > 0);
    if (size > kMostName) refuse("an attribute's string has ", std::to_string(size), " bytes");
    account(size * count);
    std::string all(size * count, '\0');
    expect(H5Aread(attribute, type, all.data()) >= 0);
    for (size_t i = 0; i < count; ++i) {
      const std::string text = all.substr(i * size, size);
      out.push_back(text.substr(0, text.find('\0')));
    }
    return out;
  }

  void account(size_t bytes) {
    name_bytes_ += static_cast<int64_t>(bytes);
    if (name_bytes_ > kMostNameBytes)
      refuse("its attributes have more than ", std::to_string(kMostNameBytes), " bytes");
  }

  // ---- datasets ----

  void take_dataset(hid_t id, const std::string& path) {
    take_attributes(id, path);
    Hdf5Dataset d{.path = path};
    const TypeHandle type(H5Dget_type(id));
    const SpaceHandle space(H5Dget_space(id));
    const int rank = H5Sget_simple_extent_ndims(space);
    expect(rank >= 0);
    hsize_t dims[H5S_MAX_RANK];
    expect(H5Sget_simple_extent_dims(space, dims, nullptr) >= 0);
    if (H5Sget_simple_extent_type(space) == H5S_NULL) return;
    hid_t native = -1;
    name_type(type, &d, &native);
    const size_t width = H5Tget_size(type);
    int64_t elements = 1;
    for (int i = 0; i < rank; ++i) {
      if (dims[i] > INT64_MAX || __builtin_mul_overflow(elements, static_cast<int64_t>(dims[i]), &elements))
        refuse("dataset ", quoted(path), " is too large");
      d.dims.push_back(static_cast<int64_t>(dims[i]));
    }
    if (width > INT64_MAX || __builtin_mul_overflow(elements, static_cast<int64_t>(width), &d.bytes))
      refuse("dataset ", quoted(path), " is too large");
    if (d.type != Hdf5Type::kOther && d.bytes > 0) place(id, type, native, path, &d);
    out_->datasets.push_back(std::move(d));
  }

  void place(hid_t id, hid_t type, hid_t native, const std::string& path, Hdf5Dataset* d) {
    const ListHandle list(H5Dget_create_plist(id));
    const H5D_layout_t layout = H5Pget_layout(list);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(list) > 0)
      refuse("dataset ", quoted(path), " lies in other files, which are not read");
    check_filters(list, path);
    const haddr_t offset = layout == H5D_CONTIGUOUS ? H5Dget_offset(id) : HADDR_UNDEF;
    if (offset != HADDR_UNDEF && H5Tequal(type, native) > 0) {
      if (offset > INT64_MAX) refuse("dataset ", quoted(path), " lies beyond the end of any file");
      d->offset = static_cast<int64_t>(offset);
      return;
    }
    const hsize_t stored = H5Dget_storage_size(id);
    if (d->bytes > kSmall && d->bytes / kMostOfStored > static_cast<int64_t>(std::min<hsize_t>(stored, INT64_MAX)))
      refuse("dataset ", quoted(path), " would have ", std::to_string(d->bytes), " bytes, of which ",
             std::to_string(stored), " are stored");
    if (d->bytes > most_ - used_) refuse("its datasets would have more than ", std::to_string(most_), " bytes");
    check_chunks(list, layout, path, *d);
    decode(id, native, d);
  }

  static void check_filters(hid_t list, const std::string& path) {
    const int filters = H5Pget_nfilters(list);
    expect(filters >= 0);
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0, config = 0;
      size_t values = 0;
      char name[64] = "";
      const H5Z_filter_t filter =
          H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &values, nullptr, sizeof name, name, &config);
      expect(filter >= 0);
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
        refuse("dataset ", quoted(path), " needs filter ", std::to_string(filter),
               ", which is not known: deflate, shuffle and fletcher32 are");
    }
  }

  static void check_chunks(hid_t list, H5D_layout_t layout, const std::string& path, const Hdf5Dataset& d) {
    if (layout != H5D_CHUNKED) return;
    hsize_t dims[H5S_MAX_RANK];
    const int rank = H5Pget_chunk(list, H5S_MAX_RANK, dims);
    expect(rank >= 0);
    double elements = 1;
    for (int i = 0; i < rank; ++i) elements *= static_cast<double>(dims[i]);
    if (elements * 8 > static_cast<double>(std::max<int64_t>(d.bytes, int64_t{1} << 20)) * 64)
      refuse("dataset ", quoted(path), " has chunks larger than it");
  }

  void decode(hid_t id, hid_t native, Hdf5Dataset* d) {
    const size_t width = H5Tget_size(native);
    int64_t elements = 1;
    for (const int64_t dim : d->dims) elements *= dim;
    d->bytes = elements * static_cast<int64_t>(width);
    std::vector<char> bytes(static_cast<size_t>(d->bytes));
    expect(H5Dread(id, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
    d->decoded = true;
    d->offset = used_;
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n =
          ::pwrite(decoded_, bytes.data() + done, bytes.size() - done, used_ + static_cast<int64_t>(done));
      if (n <= 0) refuse("there is no room for what it holds compressed");
      done += static_cast<size_t>(n);
    }
    used_ += d->bytes;
  }

  // Its type, and how this machine has it. bool is the enum that h5py makes of it.
  void name_type(hid_t type, Hdf5Dataset* d, hid_t* native) {
    const size_t size = H5Tget_size(type);
    const H5T_class_t kind = H5Tget_class(type);
    const auto set = [&](Hdf5Type t, hid_t id) { d->type = t, *native = id; };
    if (kind == H5T_FLOAT) {
      size_t sign, exponent, exponent_size, mantissa, mantissa_size;
      expect(H5Tget_fields(type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) >= 0);
      if (size == 8 && exponent_size == 11) return set(Hdf5Type::kF64, H5T_NATIVE_DOUBLE);
      if (size == 4 && exponent_size == 8) return set(Hdf5Type::kF32, H5T_NATIVE_FLOAT);
      const bool little = H5Tget_order(type) == H5T_ORDER_LE;
      if (size == 2 && exponent_size == 5 && mantissa_size == 10 && little) return set(Hdf5Type::kF16, type);
      if (size == 2 && exponent_size == 8 && mantissa_size == 7 && little) return set(Hdf5Type::kBF16, type);
    } else if (kind == H5T_INTEGER) {
      const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
      if (size == 8 && is_signed) return set(Hdf5Type::kI64, H5T_NATIVE_INT64);
      if (size == 4 && is_signed) return set(Hdf5Type::kI32, H5T_NATIVE_INT32);
      if (size == 1 && !is_signed) return set(Hdf5Type::kU8, H5T_NATIVE_UINT8);
    } else if (kind == H5T_ENUM && size == 1 && H5Tget_nmembers(type) == 2) {
      return set(Hdf5Type::kBool, type);
    } else if (kind == H5T_OPAQUE && size == 2 && is_bfloat16(d->path)) {
      return set(Hdf5Type::kBF16, type);
    }
    static const char* const kKinds[] = {"integer",  "float",     "time", "string",          "bit field", "opaque",
                                         "compound", "reference", "enum", "variable length", "array"};
    const auto known = kind >= 0 && kind < static_cast<int>(std::size(kKinds));
    d->text = std::to_string(size * 8) + "-bit " + (known ? kKinds[kind] : "type");
  }

  // As Keras notes it.
  bool is_bfloat16(const std::string& path) const {
    return std::any_of(out_->attributes.begin(), out_->attributes.end(), [&](const Hdf5Names& a) {
      return a.path == path && a.name == "dtype" && a.values == std::vector<std::string>{"bfloat16"};
    });
  }

  ListHandle list_;
  int decoded_;
  int64_t most_, used_ = 0, left_ = kMostHdf5Objects, name_bytes_ = 0;
  Hdf5Index* out_;
  FileHandle file_;
  std::set<haddr_t> seen_;
};

}  // namespace
}  // namespace tenon::hdf5

extern "C" __attribute__((visibility("default"))) bool tenon_hdf5_read(int file, int decoded, int64_t most,
                                                                       tenon::Hdf5Index* out, std::string* why) {
  return tenon::hdf5::guarded(why, [&] { tenon::hdf5::Reader(file, decoded, most, out).run(); });
}
