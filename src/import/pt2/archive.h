// The zip of torch.export.save: one folder with models/NAME.json (the program), data/weights/ and
// data/constants/ (raw tensors, and a JSON that says what they are).
#pragma once

#include <string>
#include <vector>

#include "core/zip_archive.h"

namespace quench {

bool is_pt2_archive(const ZipArchive& zip);

class Pt2Archive {
 public:
  explicit Pt2Archive(const std::string& path);  // throws for anything else, and says what it is

  const std::string& model() const { return model_; }  // "model"
  bool has(const std::string& member) const { return zip_.has(root_ + member); }
  std::uint64_t size(const std::string& member) const { return zip_.size(root_ + member); }
  void read(const std::string& member, void* to, std::uint64_t count) const { zip_.read(root_ + member, to, count); }
  std::string text(const std::string& member) const;
  std::uint64_t file_size() const { return zip_.file_size(); }

 private:
  ZipArchive zip_;
  std::string root_;  // "squeezenet/"
  std::string model_;
};

}  // namespace quench
