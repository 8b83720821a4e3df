// Datasets to TFRecord files, ahead of training, so that the accelerator never waits for small files.
//
// convert_images and convert_idx write into one directory
//   train-00000-of-0000N, validation-00000-of-0000N   records
//   labels.txt                                        one class name a line; class i is label i + 1
//   info.json                                         {"classes", "train": {"records", "shards"}, ...}
// These files appear, or replace those that are there, all at once at the very end: a failure or a kill leaves the
// directory as it was. Conversions of text have files of their own, and keep to the same. Other files in the directory
// stay. One conversion at a time: a second one into the same directory is refused. The same input and seed give the
// same bytes, whatever the threads.
//
// Several processes: those that a launcher started (tenon/processes.h) share the work, once they have met
// (join_processes()), and all of them call the same function with the same options; process 0 shows the files. Without
// a launcher, processes that share the output directory, and no more, make a part each: options.part of options.parts,
// with no order between them, again after a failure; then one without these options makes what is left and shows all.
// The files are those of one process. Either way, finished ones wait in OUTPUT/.tenon-parts, and the next call with the
// same options and input, by any number of processes, goes on with them. A conversion with others is refused there
// until then, unless it overwrites, or those failed because of their input. convert_lines is done by process 0, and has
// no parts.
//
// A record is a tf.train.Example with image/height, image/width, image/channels,
// image/class/label (index + 1), image/class/synset (the class name), image/format and image/encoded;
// from image files also image/colorspace and image/filename. image/format is JPEG or PNG (encoded is
// the file) or RAW (encoded is height x width x channels bytes).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

class ThreadPool;  // tenon/threads.h

struct ConvertOptions {
  std::string output = {};         // a directory; made when missing
  uint64_t seed = 0;               // of the order of the training records
  bool overwrite = false;          // replace the records that `output` holds already; else an error
  int64_t shard_bytes = 32 << 20;  // of images; aimed at: a file has 10 to 100 MB unless the data are fewer
  // Asked now and then, on the caller's thread. True ends the conversion with an error of code kInterrupted; the
  // directory is as it was.
  std::function<bool()> interrupted = {};

  // See "Several processes" above.
  int64_t part = 0, parts = 0;  // make only part 0, .. or parts - 1; parts 0: all
  bool merge = false;           // an error where there are no parts to go on with
};

// Images that CSV files name, or that lie in directories, one for each class, named as it.
struct ConvertImagesOptions : ConvertOptions {
  std::string train_csv;                        // rows of path,label; a relative path is relative to the CSV
  std::string validation_csv;                   // the same; empty: none
  // the class names, one a line, at least two; of directories empty: theirs, sorted
  std::string labels;
  // a directory in place of train_csv: all files below DIR/CLASS but hidden ones
  std::string input = {};
  std::string validation_input = {};            // the same for validation_csv
  // of `input`'s images of each class that are held out where there is none; bad ones are not
  double validation_fraction = 0;
  // train on a class's only image where a share is held out; false: an error
  bool keep_single_images = false;
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

// What conversions of text have in common.
struct ConvertTextOptions : ConvertOptions {
  double dev_fraction = 0.01;        // of what is held out for evaluation where there are no files for it
  std::string vocab_file = {};       // empty: made from the training text
  int64_t vocab_size = 32768;        // about as many subtokens
  int64_t vocab_sample = 1'000'000;  // characters of each file and side that it is made from
  int64_t max_length = 256;          // tokens of a side, <EOS> among them
  int64_t train_shards = 100;        // fewer where there are not as many records
};

// Pairs of sentences to records of their tokens, as TensorFlow's Transformer has them:
//   wmt32k-train-00001-of-00100, .., wmt32k-dev-00001-of-00001   tf.train.Examples, int64 lists "inputs" and "targets" that end in <EOS>
//   vocab.ende.32768                                             the subtoken vocabulary (tenon/subtokenizer.h)
//   info.json                                                    {"kind": "pairs", "vocab_file", "vocab_size", "max_length", "train": ..}
// A pair is left out and counted where a side is empty, is no UTF-8, has a NUL byte or is longer than max_length
// tokens, where one side is more than max_ratio times as long as the other, and where a line of a .tsv file has no tab.
// Blanks around a sentence are taken away, line ends and other control characters within it become blanks. Memory does
// not grow with the text, but for one shard of records at a time.
struct ConvertTranslationOptions : ConvertTextOptions {
  // Line n of source[i] belongs to line n of target[i]; a line has at most 1 MiB.
  std::vector<std::string> source, target;
  // Files that hold both sides: "source<TAB>target" lines (.tsv), gettext catalogues (.mo; the marks of keys, "_Save",
  // are no text), translation memories (.tmx), lines of {"document": .., "summary": ..} (.jsonl).
  std::vector<std::string> pairs;
  std::string source_language = "en", target_language = "de";  // in .tmx files, and in the vocabulary's name
  // The same for evaluation. Where there are none, dev_fraction of the pairs are held out; those with the same source
  // sentence stay together.
  std::vector<std::string> dev_source, dev_target, dev_pairs;
  double max_ratio = 9;           // of the tokens of the sides; 0: any
  int64_t max_target_length = 0;  // of the targets, where that is not max_length; 0: it is
  // Documents and their summaries: of a longer source the first max_length tokens are taken, and counted as shortened.
  bool cut_source = false;
  std::string vocab_stem = {};  // what stands in the vocabulary's name in place of the languages
};

// Questions about texts to records of tokens and the places of answers, from SQuAD's JSON (tenon/answers.h):
//   train-00001-of-0000N, .., validation-00001-of-00001   tf.train.Examples, int64 lists "inputs", "start" and "end"
//   vocab.answers.8192                                    the subtoken vocabulary
//   info.json                                             {"kind": "answers", "vocab_file", "vocab_size", "max_length", "doc_stride", ..}
// "inputs" is the question, <EOS>, a window of the context, <EOS>; "start" and "end" are the first and the last token
// of the first answer that is at its place, or 0 where the window does not have it or the context has none. A question
// is left out and counted where it or the context is empty, where no answer is at its place ("misplaced"), and where
// each window cuts it ("cut"). Memory does not grow with the text, but for one shard of records at a time.
struct ConvertAnswersOptions : ConvertTextOptions {
  ConvertAnswersOptions() { vocab_size = 8192, max_length = 384; }
  // JSON files. Without those of `dev`, dev_fraction of the paragraphs are held out; those with the same text stay
  // together.
  std::vector<std::string> train, dev;
  int64_t doc_stride = 128;  // tokens from one window to the next
};

// Lines of text to records of tokens for a language model, all of one length:
//   train-00001-of-0000N, .., validation-00001-of-00001   tf.train.Examples, int64 list "tokens"
//   vocab.text.32768                                      the subtoken vocabulary
//   info.json                                             {"kind": "text", "vocab_file", "vocab_size", "max_length", "train": ..}
// A line's tokens, then <EOS>; all lines of all files behind each other, cut after each max_length tokens; the last
// record may be shorter. Of several empty lines one is kept. A line that is no UTF-8 or has a NUL byte is left out and
// counted. Memory does not grow with the text, but for one shard of records at a time.
struct ConvertLinesOptions : ConvertTextOptions {
  // Text files; a line has at most 1 MiB. Without those of `dev`, dev_fraction of the records are held out.
  std::vector<std::string> input, dev;
};

// A table with a header, of CSV, to records for the model `table`:
//   train-00000-of-0000N, validation-00000-of-0000N   tf.train.Examples: floats "numbers", int64s "categories", int64 "label"
//   labels.txt                                        the classes, in the order of their bytes
//   info.json                                         {"classes", "num_numbers", "num_categories", "num_places", "kind": "table", "label",
//                                                      "columns": [{"name", "kind": "number", "mean", "stddev"},
//                                                      {"name", "kind": "category", "values"}, ..], "train": ..}
// A column is of numbers where all its training cells are, else of categories. Cells that are empty, NA, N/A, NaN, null
// or ? are missing. A number becomes (number - mean) / stddev, of the training rows; a missing one 0. A category
// becomes its place: those of the first such column are 0 (missing, or not among the training rows) and one for each
// value, the next column's follow. Rows without a label, and with one that the training rows have not, are left out and
// counted. Errors name file, line and column. The table is held in memory.
struct ConvertTableOptions : ConvertOptions {
  std::string input = {};                  // a CSV file
  std::string label = {};                  // the column that is to be predicted: classes
  std::string validation = {};             // another file; empty: validation_fraction of the rows are held out
  double validation_fraction = 0.1;        // at least a row
  std::vector<std::string> numbers = {};     // columns that have to be of numbers,
  std::vector<std::string> categories = {};  // that are of categories whatever their cells,
  std::vector<std::string> ignore = {};      // and that are not taken
  // A directory that a conversion of a table wrote: its columns, means, categories and classes are taken, as a model
  // that was trained on it needs them. Without `validation` all rows are validation.
  std::string like = {};
  // Leave out and count rows with another number of fields than the header, with what is no number of f32 in a column of
  // numbers (one of `numbers`, of `like`, or all of whose training cells are), or with a label that no class can be
  // named; false: an error.
  bool skip_bad_rows = false;
};

struct ConvertSummary {
  // What was left out, and why: "unknown_labels", "bad_images", "empty", "too_long"...
  struct LeftOut {
    std::string why;
    int64_t count = 0;
    std::string first;  // "train.csv:12: label 'tulpe' is not in labels.txt"
  };
  struct Split {
    std::string name;  // "train", "validation", "dev"
    int64_t records = 0;
    int64_t bytes = 0;      // of all its files
    int64_t shortened = 0;  // records whose text was too long
    std::vector<LeftOut> left_out;
    std::vector<std::string> files;

    // `first` is called for the first one.
    template <class First>
    void leave_out(std::string_view why, const First& first, int64_t times = 1) {
      LeftOut& found = entry(why);
      if (found.count == 0) found.first = first();
      found.count += times;
    }
    const LeftOut& of(std::string_view why) const;  // with count 0 where there is none

   private:
    LeftOut& entry(std::string_view why);
  };
  std::vector<Split> splits;
  bool complete = true;             // false: of one part, the files are not yet there
  std::vector<std::string> labels;  // of images
  std::vector<std::string> notices = {};  // lines about what may not be as it was meant
  std::vector<std::string> single_images = {};  // classes of which none is held out, as they have one
  std::string vocab_file = {};      // of text
  int64_t vocab_size = 0;
};

Result<ConvertSummary> convert_images(const ConvertImagesOptions& options, ThreadPool& pool);
Result<ConvertSummary> convert_idx(const ConvertIdxOptions& options, ThreadPool& pool);
Result<ConvertSummary> convert_translation(const ConvertTranslationOptions& options, ThreadPool& pool);
Result<ConvertSummary> convert_answers(const ConvertAnswersOptions& options, ThreadPool& pool);
Result<ConvertSummary> convert_lines(const ConvertLinesOptions& options, ThreadPool& pool);
Result<ConvertSummary> convert_table(const ConvertTableOptions& options, ThreadPool& pool);

// Where new files cannot appear all at once (the directory is a mount point, say) and a conversion was killed while it
// moved them to their places: "unavailable", until a conversion into the directory has finished that. Changes nothing.
// Call it before reading a data directory.
Status check_conversion(const std::string& directory);

}  // namespace tenon
