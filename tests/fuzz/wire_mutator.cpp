#include "fuzz/wire_mutator.h"

#include <optional>

namespace quench {
namespace {

enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint64_t tag = 0;
  std::uint64_t number = 0;   // kVarint
  Bytes bytes;                // of every other type, where it holds no message
  std::vector<Field> fields;  // of a message

  unsigned type() const { return tag & 7; }
};

constexpr int kDeepest = 24;

class Reader {
 public:
  Reader(const std::uint8_t* begin, const std::uint8_t* end, int depth) : at_(begin), end_(end), depth_(depth) {}

  std::optional<std::vector<Field>> message() {
    std::vector<Field> fields;
    while (at_ < end_) {
      Field field;
      if (!varint(field.tag) || field.tag >> 3 == 0 || field.tag >> 3 > 1000 || !content(field)) return std::nullopt;
      fields.push_back(std::move(field));
    }
    return fields;
  }

 private:
  bool varint(std::uint64_t& number) {
    number = 0;
    for (unsigned shift = 0; shift < 64 && at_ < end_; shift += 7) {
      const std::uint8_t byte = *at_++;
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool content(Field& field) {
    std::uint64_t size = field.type() == kFixed64 ? 8 : 4;
    switch (field.type()) {
      case kVarint: return varint(field.number);
      case kFixed64:
      case kFixed32: break;
      case kBytes:
        if (!varint(size)) return false;
        break;
      default: return false;
    }
    if (size > static_cast<std::uint64_t>(end_ - at_)) return false;
    const std::uint8_t* begin = at_;
    at_ += size;
    std::optional<std::vector<Field>> inner;
    if (field.type() == kBytes && size > 0 && depth_ < kDeepest) inner = Reader(begin, at_, depth_ + 1).message();
    if (inner) {
      field.fields = std::move(*inner);
    } else {
      field.bytes.assign(begin, at_);
    }
    return true;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  int depth_;
};

void write_varint(Bytes& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<std::uint8_t>(number | 0x80));
  to.push_back(static_cast<std::uint8_t>(number));
}

void write(Bytes& to, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    write_varint(to, field.tag);
    if (field.type() == kVarint) {
      write_varint(to, field.number);
      continue;
    }
    Bytes inner = field.bytes;
    write(inner, field.fields);
    if (field.type() == kBytes) write_varint(to, inner.size());
    to.insert(to.end(), inner.begin(), inner.end());
  }
}

struct Place {
  std::vector<Field>* fields;
  std::size_t at;
  Field& field() const { return (*fields)[at]; }
};

void collect(std::vector<Field>& fields, std::vector<Place>& places) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i});
    collect(fields[i].fields, places);
  }
}

std::uint64_t any_number(Random& random, std::uint64_t old) {
  static constexpr std::uint64_t kNumbers[] = {
      0, 1, 2, 7, 16, 255, 65536, 0x7fffffff, 0x100000000, 0x7fffffffffffffff, ~0ULL, ~6ULL, 1ULL << 63, 1000000};
  return random() % 2 == 0 ? kNumbers[below(random, std::size(kNumbers))] : old + random() % 9 - 4;
}

// The content of another field of the same number somewhere in the model: another input's name, another operator's.
void take_from_another(Field& field, const std::vector<Place>& places, Random& random) {
  for (int tries = 0; tries < 50; ++tries) {
    const Field& other = places[below(random, places.size())].field();
    if (other.tag != field.tag || &other == &field) continue;
    const Field copy = other;  // one may lie in the other
    field = copy;
    return;
  }
}

void change_content(Field& field, const std::vector<Place>& places, Random& random, const MutateBytes& mutate_bytes) {
  if (field.type() == kVarint) {
    field.number = any_number(random, field.number);
  } else if (random() % 2 == 0 || !field.fields.empty()) {
    take_from_another(field, places, random);
  } else {
    const std::size_t size = field.bytes.size();
    mutate_bytes(field.bytes);
    if (field.type() != kBytes) field.bytes.resize(size);
  }
}

void change(const Place& place, const std::vector<Place>& places, Random& random, const MutateBytes& mutate_bytes) {
  std::vector<Field>& fields = *place.fields;
  const auto at = fields.begin() + static_cast<std::ptrdiff_t>(place.at);
  switch (random() % 8) {
    case 0: fields.erase(at); break;
    case 1: fields.insert(at, Field(*at)); break;
    case 2: std::swap(*at, fields[below(random, fields.size())]); break;
    case 3: fields.insert(at, Field(places[below(random, places.size())].field())); break;
    case 4: at->tag = (1 + below(random, 20)) << 3 | at->type(); break;
    default: change_content(*at, places, random, mutate_bytes);
  }
}

}  // namespace

bool mutate_wire(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes) {
  std::optional<std::vector<Field>> message = Reader(bytes.data(), bytes.data() + bytes.size(), 0).message();
  if (!message || message->empty()) return false;
  std::vector<Place> places;
  collect(*message, places);
  change(places[below(random, places.size())], places, random, mutate_bytes);
  bytes.clear();
  write(bytes, *message);
  return true;
}

}  // namespace quench
