// JPEG by libjpeg-turbo with the settings that Pillow leaves alone: the slow integer transform and smooth
// chroma upsampling.
#include <cstdio>
// jpeglib.h needs FILE and size_t before it.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>

#include "data/image.h"
#include "quench/error.h"

namespace quench {
namespace {

// A progressive file of a few kilobytes can ask for any number of passes over a large picture.
constexpr int kMostScans = 500;

struct ErrorState {
  jpeg_error_mgr manager;  // first: libjpeg hands back its address
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

void leave_with_message(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  info->err->format_message(info, state->message);
  std::longjmp(state->leave, 1);
}

// libjpeg warns and paints the rest grey where the file ends early; that is a broken picture to us. Its
// other warnings are about damage that every viewer tolerates.
void judge_warning(j_common_ptr info, int level) {
  if (level == -1 && info->err->msg_code == JWRN_JPEG_EOF) leave_with_message(info);
}

void limit_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) ERREXIT(info, JERR_BAD_PROGRESSION);
}

// libjpeg's errors jump back into run(), which therefore holds nothing that has a destructor.
class Decoder {
 public:
  explicit Decoder(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&error_.manager);
    error_.manager.error_exit = leave_with_message;
    error_.manager.emit_message = judge_warning;
    progress_.progress_monitor = limit_scans;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool read_header() {
    return run([](Decoder& self) {
      jpeg_create_decompress(&self.info_);
      self.info_.progress = &self.progress_;
      jpeg_mem_src(&self.info_, self.bytes_.data(), self.bytes_.size());
      jpeg_read_header(&self.info_, TRUE);
    });
  }
  // Into `to`, of image_height rows.
  bool read_pixels(std::uint8_t* to) {
    target_ = to;
    return run([](Decoder& self) {
      jpeg_decompress_struct& info = self.info_;
      jpeg_start_decompress(&info);
      while (info.output_scanline < info.output_height) {
        JSAMPROW row = self.target_ + std::size_t{info.output_scanline} * info.output_width *
                                          static_cast<unsigned>(info.output_components);
        jpeg_read_scanlines(&info, &row, 1);
      }
      jpeg_finish_decompress(&info);
    });
  }
  jpeg_decompress_struct& info() { return info_; }
  const char* message() const { return error_.message; }

 private:
  bool run(void (*step)(Decoder&)) {
    if (setjmp(error_.leave) != 0) return false;
    step(*this);
    return true;
  }

  const std::vector<std::uint8_t>& bytes_;
  jpeg_decompress_struct info_{};
  ErrorState error_{};
  jpeg_progress_mgr progress_{};
  std::uint8_t* target_ = nullptr;
};

// a * b / 255, rounded.
int scaled(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// CMYK files are stored inverted (Adobe's way), and taken so whether they say it or not, as Pillow does.
Image rgb_of_cmyk(const Image& cmyk) {
  Image rgb(cmyk.height, cmyk.width, 3);
  const std::uint8_t* from = cmyk.bytes.data();
  for (std::size_t i = 0; i < rgb.bytes.size() / 3; ++i, from += 4) {
    const int light = from[3];
    for (std::size_t c = 0; c < 3; ++c) {
      rgb.bytes[3 * i + c] = static_cast<std::uint8_t>(light - scaled(255 - from[c], light));
    }
  }
  return rgb;
}

}  // namespace

Image decode_jpeg(const std::vector<std::uint8_t>& bytes) {
  Decoder decoder(bytes);
  QUENCH_CHECK(decoder.read_header(), "broken JPEG: ", decoder.message());
  jpeg_decompress_struct& info = decoder.info();
  check_image_size(info.image_height, info.image_width);
  const int components = info.num_components;
  QUENCH_CHECK(components == 1 || components == 3 || components == 4, "a JPEG of ", components,
               " components is not a picture");
  info.out_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  Image image(info.image_height, info.image_width, components);
  QUENCH_CHECK(decoder.read_pixels(image.bytes.data()), "broken JPEG: ", decoder.message());
  return components == 4 ? rgb_of_cmyk(image) : image;
}

}  // namespace quench
