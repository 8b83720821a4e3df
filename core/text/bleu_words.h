// Words as mteval-v14.pl and mteval-v13a.pl cut them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/text_metrics.h"

namespace tenon {

std::vector<std::string> bleu_words(std::u32string_view text, BleuTokenizer tokenizer);

}  // namespace tenon
