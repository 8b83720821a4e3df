// What a file of variables holds, read as a whole before any of it is used.
#pragma once

#include <map>
#include <string>

#include "checkpoint/keras/keras_writer.h"
#include "step/variables/variable_store.h"
#include "tenon/array.h"

namespace tenon {

using Types = std::map<std::string, Type, std::less<>>;

// What is in a file.
class TensorTypes {
 public:
  TensorTypes(std::string path, Types types) : path_(std::move(path)), types_(std::move(types)) {}
  const std::string& path() const { return path_; }
  // One line that names what the file lacks, or has with another type.
  Status check_has(const Types& wanted) const;
  // The same, and what it has beside it.
  Status check_is(const Types& wanted) const;

 private:
  std::string path_;
  Types types_;
};

class LoadedTensors {
 public:
  // NaN and infinity are refused.
  static Result<LoadedTensors> read(const std::string& path, const std::string& rules = {});
  // Names layers that Keras's file does not: by where Keras finds them, as `places` has it by their names in files.
  void name_by_place(const KerasPlaces& places);
  bool has_unnamed() const { return !unnamed_.empty(); }
  // Names what the file has by position alone: `variables` are the model's, in the order of their making, by their names in files.
  void name_by_position(const std::vector<std::string>& variables);

  TensorTypes types() const;
  // `missing` where there is no i64 scalar of that name.
  int64_t scalar(std::string_view name, int64_t missing) const;
  // Gives all of it to the variables of those names. `whole`: as what the file says of all variables that there are
  // (VariableStore::provide). Afterwards it is empty.
  Status give(VariableStore& store, bool whole);
  // The names of an object's variables by those in the file: by the names behind "OBJECT/" where it has such, or else by their
  // own, or by the structure of their names, whatever numbers they have. `own`: other names that the variables have in files;
  // where the file has these they are meant, unless it has all of the store's names and those are others.
  using NamesByTensor = std::map<std::string, std::string>;
  using OwnNames = std::map<std::string, std::string>;  // by the store's
  NamesByTensor names_for(const std::string& object, const Types& variables, const OwnNames& own) const;
  // Gives it to an object's variables: it has all of them and nothing else but what an optimizer kept. Floats of another width
  // become the variables'. On an error the store stays as it was.
  Result<WarmStartReport> give_to(VariableStore& store, const std::string& object, const Types& variables,
                                  const OwnNames& own = {});
  // Gives what the file has to variables of these names, by those in the file. On an error the store stays as it was.
  Status give_as(VariableStore& store, const NamesByTensor& names);
  const Arrays& tensors() const { return tensors_; }
  const std::string& path() const { return path_; }
  // give_to() from now on gives what both have; a variable of another type begins anew where `skip_mismatch`, else it is an
  // error.
  void let_differ(bool skip_mismatch) { differs_ = true, skips_ = skip_mismatch; }
  bool may_differ() const { return differs_; }
  bool empty() const { return tensors_.empty(); }
  // Gives those that the store has variables for; `required` ones have to be there. On an error the store stays as it was.
  Status give_known(VariableStore& store, const std::vector<std::string>& required);

 private:
  // Whether an optimizer may have kept it, in a file of all that training is made of: a slot, behind a weight's name, or a scalar.
  bool may_be_optimizers(const std::string& tensor) const;
  Status check_fits(const std::map<std::string, std::string>& names, const Types& variables) const;
  Status check_mismatch(const std::string& tensor, const std::string& variable, const Type& type) const;
  bool has_all(const NamesByTensor& names) const;
  std::map<std::string, std::string> names_of(const std::string& object, const Types& variables) const;
  std::map<std::string, std::string> names_by_structure(const std::string& scope, const Types& variables) const;
  // Tensors that the file has, and that are not read.
  Status check_read(const NamesByTensor& names) const;
  LoadedTensors(std::string path, Arrays tensors, bool has_training, TensorFile::ByPosition by_position,
                TensorFile::Unnamed unnamed, TensorFile::Unread unread)
      : path_(std::move(path)),
        tensors_(std::move(tensors)),
        has_training_(has_training),
        by_position_(std::move(by_position)),
        unnamed_(std::move(unnamed)),
        unread_(std::move(unread)) {}
  std::string path_;
  Arrays tensors_;
  bool has_training_ = false;  // it says where training stood
  TensorFile::ByPosition by_position_;
  TensorFile::Unnamed unnamed_;
  TensorFile::Unread unread_;
  bool differs_ = false, skips_ = false;
};

}  // namespace tenon
