// The checkpoints of a model directory.
//
// MODEL_DIR/model.ckpt-STEP.{data-00000-of-00001,index} hold one state each; the text file
// MODEL_DIR/checkpoint names the newest, as TensorFlow has it. Nothing that was acknowledged is ever
// overwritten: a second, different state of the same step becomes model.ckpt-STEP-1.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file/directory_lock.h"
#include "checkpoint/tensor_bundle.h"

namespace tenon {

// A checkpoint ("DIR/model.ckpt-30") that is named by itself, by its PREFIX.index, or by its directory: then the newest
// there that is whole. Its tensors have their variables' names (BundleReader::name_by_objects).
// `skipped` gets a line for each newer one that does not load.
Result<BundleReader> open_checkpoint(const std::string& path, std::vector<std::string>* skipped = nullptr);

// Adds the tensors of a state to a bundle.
using FillBundle = std::function<Status(BundleWriter&)>;

// The one writer of a model directory. Movable; one thread at a time.
struct CheckpointState;

class CheckpointManager {
 public:
  // Locks the directory (made where it is missing) and removes what a killed trainer left half
  // written. Keeps the newest `keep` checkpoints (0: all), and of those that it would remove one for every so many hours
  // for good, `every_n_hours` 0: none. The directory's model.ckpt-* files belong to the manager.
  static Result<CheckpointManager> open(const std::string& model_dir, int keep = 5, double every_n_hours = 0);

  // For the processes of a job that do not write: looks, and changes nothing. All of them, and the writer, open it together; an
  // error where this one does not see the writer's directory.
  static Result<CheckpointManager> follow(const std::string& model_dir);

  // Saves a state and returns its prefix, MODEL_DIR/model.ckpt-STEP. When it returns ok the state survives
  // kill -9 and power loss and is what latest_checkpoint() finds; on an error the one before is. Adds the
  // i64 `global_step` unless `fill` did. Older checkpoints go only after the new one is safe; of more than are kept those
  // that need not be `sound` go before the others.
  Result<std::string> save(int64_t step, const FillBundle& fill, bool sound = true);

  // Where latest_checkpoint() would look, newest first, whether they load or not.
  Result<std::vector<std::string>> prefixes() const;
  // Takes checkpoints out of use: model.ckpt-N is called diverged.ckpt-N from then on, or diverged.ckpt-N.2 where that
  // name is taken, which nothing looks for; nothing is ever replaced. Returns the names. The newest of the others becomes
  // the one that latest_checkpoint() finds; none when there are no others.
  Result<std::vector<std::string>> set_aside(const std::vector<std::string>& prefixes);

  const std::string& model_dir() const { return model_dir_; }

 private:
  CheckpointManager(std::string model_dir, int keep, double every_n_hours, std::optional<DirectoryLock> lock)
      : model_dir_(std::move(model_dir)), keep_(keep), every_n_hours_(every_n_hours), lock_(std::move(lock)) {}
  Status clean() const;
  Status remove_orphans() const;
  Result<std::string> write(int64_t step, const FillBundle& fill) const;
  Status acknowledge(const std::string& name, bool sound) const;
  void preserve(std::vector<std::string>& old, CheckpointState& state) const;
  Result<std::string> set_aside(const std::string& name) const;

  std::string model_dir_;
  int keep_;
  double every_n_hours_;
  std::optional<DirectoryLock> lock_;  // none: it follows
};

struct FoundCheckpoint {
  std::string prefix;   // MODEL_DIR/model.ckpt-30
  BundleReader reader;  // its files are open: a trainer that removes it meanwhile takes nothing away
  int64_t step = 0;
  std::vector<std::string> warnings;  // one line for each newer checkpoint that does not load
};

// The newest checkpoint that is whole, every checksum verified: the one that `checkpoint` names, else
// (that file missing or damaged, or the checkpoint torn) the newest that is. None in an empty or
// missing directory; an error when there are some and none of them loads. A trainer may save and remove checkpoints
// meanwhile.
Result<std::optional<FoundCheckpoint>> latest_checkpoint(const std::string& model_dir);

}  // namespace tenon
