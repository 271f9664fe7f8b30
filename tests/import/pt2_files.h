// The small torch.export archives of tests/data/pt2, and changed copies of them.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "core/zip_archive.h"
#include "import/onnx_files.h"
#include "zoo/torch_bytes.h"

namespace quench {

inline std::string pt2_file(const std::string& name) {
  const char* folder = std::getenv("QUENCH_TEST_DATA");
  return std::string(folder ? folder : "tests/data") + "/pt2/" + name;
}

inline std::vector<ZipMember> members_of(const std::string& path) {
  const ZipArchive archive(path);
  std::vector<ZipMember> members;
  for (const std::string& name : archive.names()) {
    ZipMember member{.name = name, .data = std::string(archive.size(name), '\0')};
    archive.read(name, member.data.data(), member.data.size());
    members.push_back(member);
  }
  return members;
}

// An archive in memory, to be changed and imported.
struct Pt2Copy {
  explicit Pt2Copy(const std::string& name) : members(members_of(pt2_file(name + ".pt2"))) {}

  ZipMember& at(const std::string& tail) {
    for (ZipMember& member : members)
      if (member.name.ends_with(tail)) return member;
    throw Error("no member ends with " + tail);
  }
  std::string& program() { return at("models/model.json").data; }

  // The first place only; throws if there is none, so that a test cannot test nothing.
  Pt2Copy& change(const std::string& tail, const std::string& from, const std::string& to) {
    std::string& text = at(tail).data;
    const std::size_t place = text.find(from);
    if (place == std::string::npos) throw Error("nothing to change: " + from);
    text.replace(place, from.size(), to);
    return *this;
  }
  Pt2Copy& change(const std::string& from, const std::string& to) { return change("models/model.json", from, to); }

  Graph import(const std::string& name = "copy.pt2") const {
    const TempFolder folder;
    return import_model(folder.write(name, zip_bytes(members)));
  }
  std::string error() const {
    return error_of([&] { import(); });
  }

  std::vector<ZipMember> members;
};

}  // namespace quench
