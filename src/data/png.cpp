// PNG by libpng, to 8-bit grey or RGB: palettes looked up, few bits widened, 16 bits cut to the high byte,
// transparency dropped, colours as in the file.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "data/image.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr png_alloc_size_t kLargestChunk = 8 << 20;

// libpng's errors jump back into run(), which therefore holds nothing that has a destructor.
class Decoder {
 public:
  explicit Decoder(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave_with_message, ignore_warning);
    QUENCH_CHECK(png_ != nullptr, "libpng has no memory");
    info_ = png_create_info_struct(png_);
    png_set_read_fn(png_, this, read);
    png_set_chunk_malloc_max(png_, kLargestChunk);
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool read_header() {
    return run([](Decoder& self) { png_read_info(self.png_, self.info_); });
  }
  bool prepare() {
    return run([](Decoder& self) {
      png_set_expand(self.png_);  // palettes to RGB, 1, 2 and 4 bits to 8
      png_set_strip_16(self.png_);
      png_set_strip_alpha(self.png_);
      png_set_interlace_handling(self.png_);
      png_read_update_info(self.png_, self.info_);
    });
  }
  bool prepare_ids() {
    return run([](Decoder& self) {
      png_set_packing(self.png_);  // 1, 2 and 4 bits to a byte each, their values unchanged
      png_set_interlace_handling(self.png_);
      png_read_update_info(self.png_, self.info_);
    });
  }
  bool read_pixels(Image& image) {
    const std::size_t stride = static_cast<std::size_t>(image.width * image.channels);
    rows_.resize(static_cast<std::size_t>(image.height));
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = image.bytes.data() + i * stride;
    return run([](Decoder& self) {
      png_read_image(self.png_, self.rows_.data());
      png_read_end(self.png_, nullptr);
    });
  }
  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }
  std::int64_t channels() const { return png_get_channels(png_, info_); }
  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  const char* message() const { return message_; }

 private:
  bool run(void (*step)(Decoder&)) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    step(*this);
    return true;
  }
  static void leave_with_message(png_structp png, png_const_charp message) {
    auto* self = static_cast<Decoder*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }
  static void ignore_warning(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto* self = static_cast<Decoder*>(png_get_io_ptr(png));
    if (count > self->bytes_.size() - self->at_) png_error(png, "the file ends early");
    std::memcpy(to, self->bytes_.data() + self->at_, count);
    self->at_ += count;
  }

  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<png_bytep> rows_;
  char message_[256] = {};
};

}  // namespace

Image decode_png_ids(const std::vector<std::uint8_t>& bytes) {
  Decoder decoder(bytes);
  QUENCH_CHECK(decoder.read_header(), "broken PNG: ", decoder.message());
  check_image_size(decoder.height(), decoder.width());
  QUENCH_CHECK(decoder.prepare_ids(), "broken PNG: ", decoder.message());
  Image image(decoder.height(), decoder.width(), decoder.channels());
  QUENCH_CHECK(image.channels == 1 && decoder.row_bytes() == static_cast<std::size_t>(image.width),
               "a mask must have one number of 8 bits or fewer per pixel (grey or a palette); this PNG has ",
               image.channels, " channels and ", decoder.row_bytes(), " bytes for ", image.width, " pixels");
  QUENCH_CHECK(decoder.read_pixels(image), "broken PNG: ", decoder.message());
  return image;
}

Image decode_png(const std::vector<std::uint8_t>& bytes) {
  Decoder decoder(bytes);
  QUENCH_CHECK(decoder.read_header(), "broken PNG: ", decoder.message());
  check_image_size(decoder.height(), decoder.width());
  QUENCH_CHECK(decoder.prepare(), "broken PNG: ", decoder.message());
  Image image(decoder.height(), decoder.width(), decoder.channels());
  QUENCH_CHECK((image.channels == 1 || image.channels == 3) &&
                   decoder.row_bytes() == static_cast<std::size_t>(image.width * image.channels),
               "a PNG of ", image.channels, " channels cannot be read");
  QUENCH_CHECK(decoder.read_pixels(image), "broken PNG: ", decoder.message());
  return image;
}

}  // namespace quench
