// What the parts of saved_model_tool share.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tenon {

void make_directory(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);

// DIRECTORY/OP/{saved_model.pb,cN.onnx,values.*,names.txt} for each op of these, or all.
void write_corpus_models(const std::string& directory, const std::set<std::string>& ops);
// DIRECTORY/MODEL/{variables,frozen,onnx}/1, and DIRECTORY/MODEL/rows-N: what the signatures are asked and answer for batches of 1, 3 and 8.
// Those of images get the files of the directory `images`.
void write_models(const std::string& directory, const std::string& images, const std::set<std::string>& names);

}  // namespace tenon
