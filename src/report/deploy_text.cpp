#include "report/deploy_text.h"

#include <filesystem>
#include <sstream>

#include "report/table.h"

namespace quench {
namespace {

// With the tensors that a large model keeps beside it.
std::int64_t bytes_of(const std::string& folder, const DeployFile& file) {
  std::error_code absent;
  const std::filesystem::path path = std::filesystem::path(folder) / file.name;
  std::int64_t bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, absent));
  const auto beside = std::filesystem::file_size(path.string() + ".data", absent);
  if (!absent) bytes += static_cast<std::int64_t>(beside);
  return bytes;
}

// "net_deploy_model.onnx and net.table", "net_qdq.onnx (or net_qoperator.onnx)"
std::string names_to_ship(const Deployment& deployment) {
  std::string all, instead;
  for (const DeployFile& file : deployment.files) {
    if (file.use == FileUse::kShip) all += (all.empty() ? "" : " and ") + file.name;
    if (file.use == FileUse::kInstead) instead += (instead.empty() ? "" : " or ") + file.name;
  }
  return all + (instead.empty() ? "" : " (or " + instead + ")");
}

}  // namespace

std::string deployment_text(const Deployment& deployment, const std::string& folder) {
  std::ostringstream out;
  const char* head = "written     ";
  for (const FileUse use : {FileUse::kShip, FileUse::kInstead, FileUse::kReference})
    for (const DeployFile& file : deployment.files) {
      if (file.use != use) continue;
      out << head << (std::filesystem::path(folder) / file.name).string() << "  " << size_text(bytes_of(folder, file))
          << "  " << file.what << "\n";
      head = "            ";
    }
  const std::string to_ship = names_to_ship(deployment);
  out << "to ship     " << (to_ship.empty() ? "nothing" : to_ship) << "\n";
  for (const std::string& note : deployment.notes) out << "note        " << note << "\n";
  return out.str();
}

Json json_of(const Deployment& deployment, const std::string& folder) {
  Json files = Json::array();
  for (const DeployFile& file : deployment.files) {
    Json one = {
        {"name", file.name}, {"what", file.what}, {"use", name_of(file.use)}, {"bytes", bytes_of(folder, file)}};
    if (file.is_model()) one["opset"] = file.opset;
    files.push_back(one);
  }
  return {{"platform", deployment.platform}, {"folder", folder}, {"files", files}, {"notes", deployment.notes}};
}

}  // namespace quench
