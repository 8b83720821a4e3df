// After jdhuff.c of the Independent JPEG Group, whose errors and warnings these are. Errors leave by longjmp: nothing here has a
// destructor.
#include "data/image/jpeg_huffman.h"

#include <climits>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstring>

#define JPEG_INTERNALS  // the decoder's parts, which are what they were in 1998
#include <jpeglib.h>
#undef JPEG_INTERNALS

#include <jerror.h>

#include "data/image/wide.h"

namespace tenon {
namespace {

constexpr int kCodeLookup = 9, kPairLookup = 11;       // bits that are looked up at once
constexpr int kMaxCode = 16;                           // bits of a code
constexpr size_t kMostBytes = 10 * DCTSIZE2 * 4 + 16;  // more than an MCU can have, and what is read ahead
constexpr size_t kChunk = 16 << 10;

// Where the coefficients of the data's order are; runs may lead beyond the end.
constexpr uint8_t kZigzag[DCTSIZE2 + 16] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,
    6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31,
    39, 46, 53, 60, 61, 54, 47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// A symbol is a run of zeros (the upper four bits) and the size in bits of the number that follows.
struct Code {
  uint8_t length;  // 0: it is longer than the lookup, or none
  uint8_t symbol;
};

// Up to two numbers that the next bits have as a whole, with their codes, and the end of the block where it follows. In memory it
// is a word of bytes that are read by shifts: length, advance, first, second, value of the second (2), of the first (2).
//   length   bits of all
//   advance  coefficients of all, and kEnd where the block ends; kNothing: no number is there as a whole
//   first    where the first number is, from the next coefficient
//   second   where the second is, from the first; what is not there is a 0 that is written where nothing is yet
using Pair = uint64_t;
constexpr unsigned kEnd = 64, kNothing = 127;

struct Table {
  Pair pairs[1 << kPairLookup];  // of AC tables
  Code codes[1 << kCodeLookup];
  int32_t max_code[kMaxCode + 2];  // the largest code of a length, -1: none
  int32_t offset[kMaxCode + 2];    // of its symbol, from the code
  uint8_t counts[kMaxCode + 1];    // what it was made of
  uint8_t symbols[256];
  bool made;
};

int extended(uint32_t bits, int size) {
  const auto number = static_cast<int>(bits);
  return bits >> (size - 1) ? number : number + 1 - (1 << size);
}

// A code and its number at the front of `count` bits.
struct Number {
  int length = 0;  // 0: there is none as a whole
  int run = 0;
  int value = 0;
};
uint32_t front_of(uint32_t bits, int count) {
  return count >= kCodeLookup ? bits >> (count - kCodeLookup) : bits << (kCodeLookup - count);
}
Number number_in(const Table& table, uint32_t bits, int count) {
  const Code code = table.codes[front_of(bits, count)];
  const int size = code.symbol & 15, length = code.length + size;
  if (code.length == 0 || size == 0 || length > count) return {};
  return {length, code.symbol >> 4, extended(bits >> (count - length) & ((1u << size) - 1), size)};
}

// Bits of the block's end at the front of `count` bits; 0: it is not there.
int end_in(const Table& table, uint32_t bits, int count) {
  const Code code = table.codes[front_of(bits, count)];
  return code.symbol == 0 && code.length <= count ? code.length : 0;
}

Pair pair_in(const Table& table, uint32_t bits) {
  Number numbers[2];
  int rest = kPairLookup;
  unsigned advance = 0;
  for (Number& number : numbers) {
    number = number_in(table, bits, rest);
    if (number.length == 0) break;
    rest -= number.length;
    bits &= (1u << rest) - 1;
    advance += static_cast<unsigned>(number.run) + 1;
  }
  const int end = end_in(table, bits, rest);
  rest -= end;
  if (end > 0) advance += kEnd;
  if (advance == 0) advance = kNothing;
  return static_cast<Pair>(kPairLookup - rest) | static_cast<Pair>(advance) << 8 |
         static_cast<Pair>(numbers[0].run) << 16 | static_cast<Pair>(numbers[1].run + 1) << 24 |
         static_cast<Pair>(static_cast<uint16_t>(numbers[1].value)) << 32 |
         static_cast<Pair>(static_cast<uint16_t>(numbers[0].value)) << 48;
}

// `from` was checked by libjpeg when the decompression was started.
void make_table(Table& table, const JHUFF_TBL& from, bool pairs) {
  if (table.made && std::memcmp(table.counts, from.bits, sizeof table.counts) == 0 &&
      std::memcmp(table.symbols, from.huffval, sizeof table.symbols) == 0)
    return;
  std::memset(table.codes, 0, sizeof table.codes);
  std::memcpy(table.counts, from.bits, sizeof table.counts);
  std::memcpy(table.symbols, from.huffval, sizeof table.symbols);
  int32_t code = 0, at = 0;
  for (int length = 1; length <= kMaxCode; ++length, code <<= 1) {
    table.offset[length] = at - code;
    for (int i = 0; i < table.counts[length]; ++i, ++code, ++at) {
      const int free = kCodeLookup - length;
      for (int rest = 0; free >= 0 && rest < 1 << free; ++rest)
        table.codes[code << free | rest] = {static_cast<uint8_t>(length), table.symbols[at & 255]};
    }
    table.max_code[length] = table.counts[length] ? code - 1 : -1;
  }
  table.max_code[kMaxCode + 1] = INT_MAX;
  table.offset[kMaxCode + 1] = 0;
  for (uint32_t bits = 0; pairs && bits < 1u << kPairLookup; ++bits) table.pairs[bits] = pair_in(table, bits);
  table.made = true;
}

// The next bits, the first one on top.
struct Bits {
  uint64_t bits;
  int left;  // that are known to be in it; more may be
  const uint8_t* next;

  // 56 or more.
  void fill() {
    uint64_t word;
    std::memcpy(&word, next, sizeof word);
    bits |= __builtin_bswap64(word) >> left;
    next += (63 - left) >> 3;
    left |= 56;
  }
  uint32_t front(int count) const { return static_cast<uint32_t>(bits >> (64 - count)); }
  void drop(int count) {
    bits <<= count;
    left -= count;
  }
};

enum class End : uint8_t { kNone, kMarker, kFile };  // of the data in the buffer

}  // namespace

class JpegHuffman {
 public:
  jpeg_entropy_decoder base;  // the first: libjpeg has a pointer to it
  Table dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
  int last_dc[MAX_COMPS_IN_SCAN];
  unsigned to_restart;
  Bits bits;
  End end;
  const uint8_t* data_end;
  uint8_t data[kChunk + kMostBytes];

  void begin_segment() {
    std::memset(last_dc, 0, sizeof last_dc);
    bits = {0, 0, data};
    data_end = data;
    end = End::kNone;
  }
};

namespace {

// The largest number of bits of a code and its number is 32.
TENON_INLINE uint8_t read_symbol(Bits& bits, const Table& table) {
  bits.fill();
  const Code code = table.codes[bits.front(kCodeLookup)];
  bits.drop(code.length);
  if (code.length > 0) return code.symbol;
  int length = kCodeLookup + 1;
  auto found = static_cast<int32_t>(bits.front(length));
  while (found > table.max_code[length]) found = static_cast<int32_t>(bits.front(++length));
  bits.drop(length);
  // No code: as libjpeg, which goes on with 0.
  return length > kMaxCode ? uint8_t{0} : table.symbols[(found + table.offset[length]) & 255];
}

int read_number(Bits& bits, int size) {
  const int value = extended(bits.front(size), size);
  bits.drop(size);
  return value;
}

int read_dc(Bits& bits, const Table& table) {
  const int size = read_symbol(bits, table) & 15;
  return size > 0 ? read_number(bits, size) : 0;
}

unsigned advance_of(Pair pair) { return static_cast<uint8_t>(pair >> 8); }

// The second one first: it may be a 0 where the first belongs.
TENON_INLINE void put_pair(Pair pair, JCOEF* block, unsigned k) {
  const unsigned first = k + static_cast<uint8_t>(pair >> 16), second = first + static_cast<uint8_t>(pair >> 24);
  block[kZigzag[second]] = static_cast<JCOEF>(pair >> 32);
  block[kZigzag[first]] = static_cast<JCOEF>(static_cast<int64_t>(pair) >> 48);
}

// Coefficients 1 to 63.
template <bool kWanted>
TENON_INLINE void read_ac(Bits& bits, const Table& table, JCOEF* block) {
  constexpr int kAtOnce = 56 / kPairLookup;
  for (unsigned k = 1; k < DCTSIZE2;) {
    bits.fill();
    int left = kAtOnce;
    Pair pair = 0;
    for (; left > 0; --left) {
      pair = table.pairs[bits.front(kPairLookup)];
      if (k + advance_of(pair) >= DCTSIZE2) break;
      if constexpr (kWanted) put_pair(pair, block, k);
      bits.drop(static_cast<int>(pair & 63));
      k += advance_of(pair);
    }
    if (left == 0) continue;
    // Coefficient 63 is not followed by an end.
    if (advance_of(pair) >= kEnd && k + (advance_of(pair) - kEnd) < DCTSIZE2) {
      if constexpr (kWanted) put_pair(pair, block, k);
      return bits.drop(static_cast<int>(pair & 63));
    }
    const uint8_t symbol = read_symbol(bits, table);
    k += symbol >> 4;
    if ((symbol & 15) == 0) {
      if (symbol != 0xF0) return;
    } else {
      const int value = read_number(bits, symbol & 15);
      if constexpr (kWanted) block[kZigzag[k]] = static_cast<JCOEF>(value);
    }
    ++k;
  }
}

// Copies up to `room` bytes without what is stuffed between them.
uint8_t* copy_data(jpeg_source_mgr& source, uint8_t* to, size_t room, End* end) {
  while (room > 0) {
    const size_t count = source.bytes_in_buffer < room ? source.bytes_in_buffer : room;
    if (count == 0) return *end = End::kFile, to;
    const JOCTET* const from = source.next_input_byte;
    const void* const found = std::memchr(from, 0xFF, count);
    const size_t plain = found ? static_cast<size_t>(static_cast<const JOCTET*>(found) - from) : count;
    std::memcpy(to, from, plain);
    to += plain;
    room -= plain;
    size_t taken = plain;
    if (found) {
      size_t after = plain;
      while (after < source.bytes_in_buffer && from[after] == 0xFF) ++after;
      const bool more = after < source.bytes_in_buffer;
      if (!more || from[after] != 0) *end = more ? End::kMarker : End::kFile;
      if (*end == End::kNone) *to++ = 0xFF, --room, taken = after + 1;
    }
    source.next_input_byte += taken;
    source.bytes_in_buffer -= taken;
    if (*end != End::kNone) return to;
  }
  return to;
}

// Makes sure that all of the next MCU is in the buffer, or zeros behind the last data.
void read_ahead(jpeg_decompress_struct& jpeg, JpegHuffman& h) {
  const ptrdiff_t there = h.data_end - h.bits.next;
  if (h.end != End::kNone || there >= static_cast<ptrdiff_t>(kMostBytes)) return;
  const size_t kept = there > 0 ? static_cast<size_t>(there) : 0;
  if (kept > 0) std::memmove(h.data, h.bits.next, kept);
  h.bits.next = h.data;
  if (jpeg.unread_marker != 0) h.end = End::kMarker;
  uint8_t* const end = h.end == End::kNone ? copy_data(*jpeg.src, h.data + kept, kChunk - kept, &h.end) : h.data + kept;
  if (h.end != End::kNone) std::memset(end, 0, kMostBytes);
  h.data_end = end;
}

template <bool kWanted>
void read_blocks(jpeg_decompress_struct& jpeg, JpegHuffman& h, JBLOCKROW* blocks) {
  Bits bits = h.bits;
  for (int i = 0; i < jpeg.blocks_in_MCU; ++i) {
    const int part = jpeg.MCU_membership[i];
    const jpeg_component_info& component = *jpeg.cur_comp_info[part];
    const int difference = read_dc(bits, h.dc[component.dc_tbl_no]);
    if (__builtin_add_overflow(h.last_dc[part], difference, &h.last_dc[part])) ERREXIT(&jpeg, JERR_BAD_DCT_COEF);
    const Table& ac = h.ac[component.ac_tbl_no];
    if (kWanted && component.component_needed) {
      (*blocks[i])[0] = static_cast<JCOEF>(h.last_dc[part]);
      read_ac<true>(bits, ac, *blocks[i]);
    } else {
      read_ac<false>(bits, ac, nullptr);
    }
  }
  h.bits = bits;
}

boolean read_mcu(j_decompress_ptr jpeg, JBLOCKROW* blocks) {
  JpegHuffman& h = *reinterpret_cast<JpegHuffman*>(jpeg->entropy);
  if (jpeg->restart_interval > 0 && h.to_restart == 0) {
    if (!jpeg->marker->read_restart_marker(jpeg)) return FALSE;
    h.begin_segment();
    h.to_restart = jpeg->restart_interval;
    if (jpeg->unread_marker == 0) h.base.insufficient_data = FALSE;
  }
  --h.to_restart;
  if (h.base.insufficient_data) return TRUE;
  read_ahead(*jpeg, h);
  blocks ? read_blocks<true>(*jpeg, h, blocks) : read_blocks<false>(*jpeg, h, blocks);
  if (h.end == End::kNone || (h.bits.next - h.data_end) * 8 <= h.bits.left) return TRUE;
  if (h.end == End::kFile) jpeg->src->fill_input_buffer(jpeg);
  WARNMS(jpeg, JWRN_HIT_MARKER);
  h.base.insufficient_data = TRUE;
  return TRUE;
}

}  // namespace

void DeleteJpegHuffman::operator()(JpegHuffman* huffman) const { delete huffman; }

JpegHuffmanPtr make_jpeg_huffman() { return JpegHuffmanPtr(new JpegHuffman{}); }

void use_huffman(jpeg_decompress_struct& jpeg, JpegHuffman& h) {
  if (jpeg.arith_code || jpeg.progressive_mode || jpeg.inputctl->has_multiple_scans || jpeg.data_precision != 8 ||
      jpeg.Ss != 0 || jpeg.Se != DCTSIZE2 - 1)
    return;
  for (int i = 0; i < jpeg.comps_in_scan; ++i) {
    const jpeg_component_info& component = *jpeg.cur_comp_info[i];
    make_table(h.dc[component.dc_tbl_no], *jpeg.dc_huff_tbl_ptrs[component.dc_tbl_no], false);
    make_table(h.ac[component.ac_tbl_no], *jpeg.ac_huff_tbl_ptrs[component.ac_tbl_no], true);
  }
  h.base = *jpeg.entropy;
  h.base.decode_mcu = read_mcu;
  h.begin_segment();
  h.to_restart = jpeg.restart_interval;
  jpeg.entropy = &h.base;
}

}  // namespace tenon
