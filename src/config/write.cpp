// A job in quench's own schema, for the record. Defaults are left out.
#include "config/parts.h"
#include "config/yaml_writer.h"
#include "platforms/plan/settings.h"
#include "quench/config.h"

namespace quench {
namespace {

const char* name_of(Format format) {
  switch (format) {
    case Format::kInt: return "int";
    case Format::kE4M3Fn: return "e4m3fn";
    case Format::kE5M2: return "e5m2";
    case Format::kLog: return "log";
  }
  return "";
}

void write(YamlWriter& out, const char* key, const QuantSettings& settings) {
  if (settings.empty()) return;
  out.begin(key, true);
  if (settings.format) out.put("format", name_of(*settings.format));
  out.put_some("bits", settings.bits);
  out.put_some("signed", settings.is_signed);
  out.put_some("symmetric", settings.symmetric);
  if (settings.granularity) out.put("granularity", name_of(*settings.granularity));
  out.put_some("axis", settings.axis);
  if (settings.group && *settings.group > 0) out.put("group", *settings.group);
  out.put_some("narrow", settings.narrow);
  out.put_some("pot", settings.power_of_two_scale);
  out.put_some("observer", settings.observer);
  out.put_some("observer_options", settings.observer_options);
  out.put_some("fake_quant", settings.fake_quant);
  out.put_some("fake_quant_options", settings.fake_quant_options);
  out.end();
}

void write(YamlWriter& out, const LayerRule& rule) {
  out.begin();
  out.put_some("match", rule.match);
  out.put_some("op", rule.op);
  if (rule.keep_float) out.put("float", true);
  write(out, "weight", rule.weight);
  write(out, "activation", rule.activation);
  write(out, "output", rule.output);
  out.end();
}

void write(YamlWriter& out, const QuantConfig& quant) {
  out.put_some("platform", quant.platform);
  if (quant.parity) out.put("parity", true);
  if (quant.float_fallback) out.put("float_fallback", true);
  out.put_some("platform_options", quant.platform_options);
  if (!quant.weight.empty() || !quant.activation.empty() || !quant.bias.empty()) {
    out.begin("defaults");
    write(out, "weight", quant.weight);
    write(out, "activation", quant.activation);
    write(out, "bias", quant.bias);
    out.end();
  }
  if (!quant.layers.empty()) {
    out.begin_list("layers");
    for (const LayerRule& rule : quant.layers) write(out, rule);
    out.end_list();
  }
  out.put_some("additional_ops", quant.additional_ops);
  out.put_some("additional_nodes", quant.additional_nodes);
  out.put_some("excluded_ops", quant.excluded_ops);
  out.put_some("excluded_nodes", quant.excluded_nodes);
  out.put_some("fuse", quant.fuse);
  out.put_some("fuse_patterns", quant.fuse_patterns);
}

// As a map: a path may hold what a spec string cannot.
void write(YamlWriter& out, const char* key, const std::optional<DatasetSpec>& spec) {
  if (!spec) return;
  out.begin(key, true);
  out.put_text("kind", spec->kind);
  out.put_text("path", spec->path);
  for (const auto& [name, value] : spec->options) out.put_text(name, value);
  out.end();
}

void write_calibration(YamlWriter& out, const JobConfig& job) {
  const CalibrationOptions& options = job.calibration;
  const CalibrationOptions plain;
  out.begin("calibration");
  if (options.batch > 0) out.put("batch", options.batch);
  if (options.batches > 0) out.put("batches", options.batches);
  if (job.calibration_samples > 0) out.put("samples", job.calibration_samples);
  if (options.workers != plain.workers) out.put("workers", options.workers);
  out.put("on_quantized", options.on_quantized);
  if (options.skip_broken) out.put("skip_broken", true);
  out.put_some("statistics", options.statistics);
  out.end();
}

void write_deploy(YamlWriter& out, const DeployConfig& deploy) {
  if (deploy.folder.empty() && deploy.name.empty() && deploy.opset == 0 && deploy.exporter.values().empty()) return;
  out.begin("deploy");
  out.put_some("folder", deploy.folder);
  out.put_some("name", deploy.name);
  if (deploy.opset != 0) out.put("opset", deploy.opset);
  out.put_some("options", deploy.exporter);
  out.end();
}

void write_record(YamlWriter& out, const JobConfig& job) {
  out.put_some("preserve", job.preserve);
  if (!job.metadata.empty()) {
    out.begin("metadata");
    for (const auto& [key, value] : job.metadata) out.put_text(key, value);
    out.end();
  }
  if (!job.kept.empty()) {
    out.begin_list("kept");
    for (const KeptKey& kept : job.kept) {
      out.begin();
      out.put("stage", name_of(kept.stage));
      out.put_text("key", kept.key);
      out.put_text("value", kept.value);
      out.put_text("where", kept.where);
      out.end();
    }
    out.end_list();
  }
  out.put_some("notes", job.notes);
}

}  // namespace

std::string to_yaml(const JobConfig& job) {
  YamlWriter out;
  out.begin();
  out.put("version", job.version);
  if (job.layout != "quench") out.put("layout", job.layout);
  out.put_some("plugins", job.plugins);
  out.put_some("model", job.model);
  out.put_some("input_shape", job.input_shapes);
  write(out, job.quant);
  if (job.data.calib || job.data.eval || job.data.train || job.data.val) {
    out.begin("data");
    write(out, "calib", job.data.calib);
    write(out, "eval", job.data.eval);
    write(out, "train", job.data.train);
    write(out, "val", job.data.val);
    out.end();
  }
  out.put_some("metrics", job.metrics);
  write_calibration(out, job);
  if (!job.method.name.empty()) {
    out.begin("method");
    out.put("name", job.method.name);
    out.put_all(job.method.options);
    out.end();
  }
  if (job.train) write_train(out, *job.train);
  out.put_some("equalize", job.equalize);
  out.put_some("smooth", job.smooth);
  if (job.bias_correction) out.put("bias_correction", name_of(*job.bias_correction));
  out.put("seed", job.seed);
  if (job.calibration.device != "cpu") out.put("device", job.calibration.device);
  out.put_some("output", job.output);
  write_deploy(out, job.deploy);
  write_record(out, job);
  out.end();
  return out.text();
}

}  // namespace quench
