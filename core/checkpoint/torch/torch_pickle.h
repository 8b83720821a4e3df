// What PyTorch's torch.save writes of a dictionary of tensors: a pickle, which is a program. Here it is none: of its instructions those that
// make numbers, texts, tuples and dictionaries are known, and of the functions that it calls those that make a tensor; nothing is
// run. https://docs.python.org/3/library/pickletools.html, protocol 2.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/types.h"

namespace tenon {

struct TorchTensor {
  DType dtype = DType::kNone;  // kNone: one that Tenon does not have
  std::string type;            // PyTorch's name of it: "ShortStorage"
  std::string storage;         // "0"
  int64_t offset = 0;          // elements in it
  std::vector<int64_t> dims, strides;
};

// The tensors of the dictionary, those of dictionaries in it as "state_dict.conv1.weight"; what else there is is passed over. An
// error's message is the cause alone.
Result<std::map<std::string, TorchTensor, std::less<>>> tensors_of_pickle(std::string_view pickle);

}  // namespace tenon
