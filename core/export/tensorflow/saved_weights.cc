#include "export/tensorflow/saved_weights.h"

#include "base/strings.h"

namespace tenon::tensorflow {

Ref Weights::value(const std::string& name, const PortableValue& type) {
  const auto [at, is_new] = values_.try_emplace(name);
  if (is_new) at->second = frozen_ ? constant(name, type.at(0)) : resource(name, type.at(0));
  return at->second;
}

Ref Weights::constant(const std::string& name, const Type& type) {
  const Array value = frozen_(name).take();
  if (!(value.type() == type)) fail("variable '", name, "' is ", value.type().str(), ", expected ", type.str());
  bytes_ += type.bytes();
  if (bytes_ > kMostGraphBytes)
    fail("TensorFlow's graph: constants of more than ", kMostGraphBytes,
         " bytes; export the model with variables, not frozen");
  const auto* bytes = reinterpret_cast<const char*>(value.bytes().data());
  Fields fields = {type_field("dtype", type.dtype), {"value", {}}};
  *fields[1].second.mutable_tensor() = tensor_proto(type.dtype, type.shape.vec(), {bytes, value.bytes().size()});
  return nodes_->add_named(name, "Const", {}, std::move(fields));
}

Ref Weights::resource(const std::string& name, const Type& type) {
  Resource r{name, type.dtype, {}, {}, {}, {}};
  const Field dtype = type_field("dtype", type.dtype);
  const Field shape = shape_field("shape", type.shape.vec());
  r.handle = nodes_->add_named(name, "VarHandleOp", {},
                               {dtype, shape, text_field("shared_name", name), text_field("container", "")});
  Fields zeros = {dtype, {"value", {}}};
  const std::string zero(static_cast<size_t>(dtype_bytes(type.dtype)), '\0');
  *zeros[1].second.mutable_tensor() = tensor_proto(type.dtype, type.shape.vec(), zero);
  r.initial = nodes_->add_named(cat(name, "/Initializer/zeros"), "Const", {}, std::move(zeros));
  r.initializer = nodes_->add_named(cat(name, "/Assign"), "AssignVariableOp", {r.handle, r.initial}, {dtype});
  r.read = nodes_->add_named(cat(name, "/Read/ReadVariableOp"), "ReadVariableOp", {r.handle}, {dtype});
  resources_.push_back(r);
  return r.read;
}

Ref Weights::strings(const std::string& name, const std::vector<std::string>& values) {
  Fields fields = {type_field("dtype", DT_STRING), {"value", {}}};
  *fields[1].second.mutable_tensor() = string_proto(values);
  return nodes_->add_named(name, "Const", {}, std::move(fields));
}

Ref Weights::write_save(const Ref& file, const Ref& names, const Ref& slices, const Field& types) {
  std::vector<Ref> in = {file, names, slices};
  for (const Resource& r : resources_) in.push_back(r.read);
  const Ref save = nodes_->add_named("save/SaveV2", "SaveV2", in, {types});
  return nodes_->add_named("save/control_dependency", "Identity", {file, cat("^", save)}, {type_field("T", DT_STRING)});
}

std::string Weights::write_restore(const Ref& file, const Ref& names, const Ref& slices, const Field& types) {
  const Ref restored = nodes_->add_named("save/RestoreV2", "RestoreV2", {file, names, slices}, {types});
  std::vector<Ref> all;
  for (size_t k = 0; k < resources_.size(); ++k) {
    const Ref value = k == 0 ? restored : cat(restored, ":", k);
    all.push_back(cat("^", nodes_->add_named("save/AssignVariableOp", "AssignVariableOp", {resources_[k].handle, value},
                                             {type_field("dtype", resources_[k].dtype)})));
  }
  return nodes_->add_named("save/restore_all", "NoOp", all, {});
}

void Weights::finish(MetaGraphDef& meta) {
  if (resources_.empty()) return;
  Field types{"dtypes", {}};
  std::vector<std::string> names;
  for (const Resource& r : resources_) {
    types.second.mutable_list()->add_type(data_type(r.dtype));
    names.push_back(r.name);
    VariableDef variable;
    variable.set_variable_name(r.handle + ":0");
    variable.set_initializer_name(r.initializer);
    variable.set_snapshot_name(r.read + ":0");
    variable.set_initial_value_name(r.initial + ":0");
    variable.set_is_resource(true);
    variable.set_trainable(true);
    (*meta.mutable_collection_def())["variables"].mutable_bytes_list()->add_value(variable.SerializeAsString());
  }
  Fields model = {type_field("dtype", DT_STRING), {"value", {}}};
  *model[1].second.mutable_tensor() = string_scalar("model");
  const Ref input = nodes_->add_named("save/filename/input", "Const", {}, std::move(model));
  const Fields scalar = {type_field("dtype", DT_STRING), shape_field("shape", {})};
  const Ref filename = nodes_->add_named("save/filename", "PlaceholderWithDefault", {input}, scalar);
  const Ref file = nodes_->add_named("save/Const", "PlaceholderWithDefault", {filename}, scalar);
  const Ref tensors = strings("save/tensor_names", names);
  const Ref slices = strings("save/shape_and_slices", std::vector<std::string>(names.size()));
  SaverDef& saver = *meta.mutable_saver_def();
  saver.set_filename_tensor_name(file + ":0");
  saver.set_save_tensor_name(write_save(file, tensors, slices, types) + ":0");
  saver.set_restore_op_name(write_restore(file, tensors, slices, types));
  saver.set_version(2);
}

}  // namespace tenon::tensorflow
