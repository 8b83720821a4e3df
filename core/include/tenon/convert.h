// Datasets to TFRecord files, ahead of training, so that the accelerator never waits for small files.
//
// Both converters write into one directory
//   train-00000-of-0000N, validation-00000-of-0000N   records
//   labels.txt                                        one class name a line; class i is label i + 1
//   info.json                                         {"classes", "train": {"records", "shards"}, ...}
// These files appear, or replace those that are there, all at once at the very end: a failure or a kill leaves the directory
// as it was. Other files in it stay. One conversion at a time: a second one into the same directory is refused. The same
// input and seed give the same bytes, whatever the threads.
//
// A record is a tf.train.Example with image/height, image/width, image/channels,
// image/class/label (index + 1), image/class/synset (the class name), image/format and image/encoded;
// from image files also image/colorspace and image/filename. image/format is JPEG or PNG (encoded is
// the file) or RAW (encoded is height x width x channels bytes).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon {

class ThreadPool;  // tenon/threads.h

struct ConvertOptions {
  std::string output = {};         // a directory; made when missing
  uint64_t seed = 0;               // of the order of the training records
  bool overwrite = false;          // replace the records that `output` holds already; else an error
  int64_t shard_bytes = 32 << 20;  // aimed at; a file has 10 to 100 MB unless the data are fewer
  // Asked now and then, on the caller's thread. True ends the conversion with an error of code kInterrupted; the directory
  // is as it was.
  std::function<bool()> interrupted = {};
};

struct ConvertImagesOptions : ConvertOptions {
  std::string train_csv;                        // rows of path,label; a relative path is relative to the CSV
  std::string validation_csv;                   // the same; empty: none
  std::string labels;                           // the class names, one a line, at least two
  bool skip_bad_images = false;                 // pass over and count what cannot be read or decoded
  bool verify = true;                           // decode every image; false: look at its header only
  int64_t max_image_bytes = int64_t{64} << 20;  // memory to decode one image
};

struct ConvertIdxOptions : ConvertOptions {
  // A directory with {train,t10k}-{images-idx3,labels-idx1}-ubyte, each plain or with .gz. t10k
  // becomes validation.
  std::string input;
  std::string labels;  // class names, one a line; empty: labels.txt in `input`, or else 0, 1, 2...
};

struct ConvertSummary {
  struct Split {
    std::string name;  // "train", "validation"
    int64_t records = 0;
    int64_t bytes = 0;           // of all its files
    int64_t unknown_labels = 0;  // rows whose label is not in the list
    int64_t bad_images = 0;
    std::string first_unknown;  // "train.csv:12: label 'tulpe' is not in labels.txt"
    std::string first_bad;      // why the first bad image is bad
    std::vector<std::string> files;
  };
  std::vector<Split> splits;
  std::vector<std::string> labels;
};

Result<ConvertSummary> convert_images(const ConvertImagesOptions& options, ThreadPool& pool);
Result<ConvertSummary> convert_idx(const ConvertIdxOptions& options, ThreadPool& pool);

// Where new files cannot appear all at once (the directory is a mount point, say) and a conversion was killed while it moved
// them to their places: "unavailable", until a conversion into the directory has finished that. Changes nothing. Call it
// before reading a data directory.
Status check_conversion(const std::string& directory);

}  // namespace tenon
