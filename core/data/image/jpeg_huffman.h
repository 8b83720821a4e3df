// Huffman decoding of baseline JPEGs, in the place of libjpeg's, which takes two thirds of the time of an image.
//
// The coefficients, and what is wrong with an image, are those that libjpeg finds. Data go through a buffer without their stuffed
// bytes; most codes are looked up together with the number behind them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

struct jpeg_decompress_struct;

namespace tenon {

class JpegHuffman;
struct DeleteJpegHuffman {
  void operator()(JpegHuffman* huffman) const;
};
using JpegHuffmanPtr = std::unique_ptr<JpegHuffman, DeleteJpegHuffman>;

// Tables and a buffer for one decompression after the other.
JpegHuffmanPtr make_jpeg_huffman();

// Decodes what `jpeg`, which was started and has read no rows, reads from now on; leaves it alone where the image is progressive, in
// several scans or arithmetically coded. `huffman` must outlive the decompression. Allocates nothing.
void use_huffman(jpeg_decompress_struct& jpeg, JpegHuffman& huffman);

}  // namespace tenon
