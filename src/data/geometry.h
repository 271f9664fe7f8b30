// What happens to a picture after it is decoded, until it has the size that the model takes.
#pragma once

#include "data/image.h"
#include "quench/data.h"

namespace quench {

// size=, resize=, crop=, fit= and border= of a spec (docs/data.md).
class Geometry {
 public:
  Geometry(const DatasetSpec& spec, const InputHint& hint);

  struct Placed {
    Image image;
    Placement placement;
  };
  Placed apply(Image image) const;

 private:
  struct Size {
    std::int64_t height = -1, width = -1;
    bool known() const { return height > 0 && width > 0; }
  };
  static Size size_option(const DatasetSpec& spec, const char* key);
  void read_fit(const DatasetSpec& spec);
  Size covering(const Image& image) const;
  Placed crop(Image image) const;
  Placed letterbox(const Image& image) const;

  Size resize_, final_;
  bool asked_ = false;  // resize= or crop= was given: done to every picture
  std::string fit_;     // crop, stretch or letterbox
  std::uint8_t border_ = 0;
};

}  // namespace quench
