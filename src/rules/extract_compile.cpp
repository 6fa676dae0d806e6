// From a pattern's text to the steps of Extractor: one pass, by descent; depth and size are
// bounded.
#include <fmt/format.h>

#include "rules/extract.h"
#include "rules/host.h"

namespace caisson {

// A method per rule of the grammar. Each appends steps; a jump target is a number of a step.
class ExtractCompiler {
 public:
  explicit ExtractCompiler(std::string_view pattern) : text_(pattern) {}

  Result<Extractor> run() {
    TRY(alternatives(0));
    if (at_ < text_.size()) return bad("a ) without its (");
    if (groups_ == 0) return bad("no group: the secret is what stands in the first ( )");
    TRY(emit({Extractor::Op::kMatch}));
    return std::move(made_);
  }

 private:
  using Op = Extractor::Op;
  using Step = Extractor::Step;
  using Set = Extractor::Set;
  using Steps = std::vector<Step>;
  static constexpr int kMaxDepth = 50;
  static constexpr uint32_t kUnbounded = UINT32_MAX, kMaxCount = 1000;

  Error bad(std::string_view why) const {
    return Error::plain(fmt::format("{} is no pattern to extract with: {}", quoted(text_), why),
                        "classes, groups, | and repetitions are known; look-around and "
                        "back-references are not");
  }
  bool more() const { return at_ < text_.size(); }
  char next() { return text_[at_++]; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  uint32_t here() const { return static_cast<uint32_t>(made_.steps_.size()); }

  Result<void> emit(Step step) {
    if (made_.steps_.size() >= Extractor::kMaxSteps) return bad("it is too large");
    made_.steps_.push_back(step);
    return {};
  }
  Result<void> emit(const Set& set) {
    made_.sets_.push_back(set);
    return emit({Op::kBytes, static_cast<uint32_t>(made_.sets_.size() - 1)});
  }

  // Takes what was emitted since `start` out again, relative to it, to be put elsewhere.
  Steps cut(uint32_t start) {
    Steps steps(made_.steps_.begin() + start, made_.steps_.end());
    made_.steps_.resize(start);
    for (Step& step : steps) move(step, -static_cast<int64_t>(start));
    return steps;
  }
  Result<void> paste(const Steps& steps) {
    uint32_t base = here();
    for (Step step : steps) {
      move(step, base);
      TRY(emit(step));
    }
    return {};
  }
  static void move(Step& step, int64_t by) {
    if (step.op == Op::kSplit || step.op == Op::kJump)
      step.first = static_cast<uint32_t>(step.first + by);
    if (step.op == Op::kSplit) step.second = static_cast<uint32_t>(step.second + by);
  }

  Result<void> alternatives(int depth) {
    if (depth > kMaxDepth) return bad("it is too deep");
    uint32_t start = here();
    TRY(sequence(depth));
    if (!take("|")) return {};
    Steps left = cut(start);
    auto size = static_cast<uint32_t>(left.size());
    TRY(emit({Op::kSplit, start + 1, start + size + 2}));
    TRY(paste(left));
    uint32_t jump = here();
    TRY(emit({Op::kJump}));
    TRY(alternatives(depth + 1));
    made_.steps_[jump].first = here();
    return {};
  }

  Result<void> sequence(int depth) {
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      uint32_t start = here();
      bool repeats = TRY(atom(depth));
      TRY(repetition(start, repeats));
    }
    return {};
  }

  // True: it may be repeated.
  Result<bool> atom(int depth) {
    char c = next();
    if (c == '(') return group(depth);
    if (c == '^' || c == '$') {
      TRY(emit({c == '^' ? Op::kStart : Op::kEnd}));
      return false;
    }
    if (c == '*' || c == '+' || c == '?') return bad("a repetition of nothing");
    if (c == '\\' && more() && (text_[at_] == 'b' || text_[at_] == 'B')) {
      TRY(emit({next() == 'b' ? Op::kBoundary : Op::kInside}));
      return false;
    }
    if (c == '\\' && take("u")) return code_point();
    Set set;
    if (c == '.')
      set = all_but("\n\r");
    else if (c == '[')
      TRY(bracket(set));
    else if (c == '\\')
      TRY(escape(set));
    else
      set.add(static_cast<uint8_t>(c));
    TRY(emit(set));
    return true;
  }

  Result<bool> group(int depth) {
    bool captures = true;
    if (take("?:")) {
      captures = false;
    } else if (take("?<")) {
      if (more() && (text_[at_] == '=' || text_[at_] == '!')) return bad("it looks behind");
      size_t end = text_.find('>', at_);
      if (end == text_.npos) return bad("a name of a group that doesn't end");
      at_ = end + 1;
    } else if (take("?")) {
      return bad("(? is followed by : or by a <name>");
    }
    bool is_first = captures && ++groups_ == 1;
    if (is_first) TRY(emit({Op::kSave, 0}));
    TRY(alternatives(depth + 1));
    if (!take(")")) return bad("a ( without its )");
    if (is_first) TRY(emit({Op::kSave, 1}));
    return true;
  }

  Result<void> repetition(uint32_t start, bool may) {
    uint32_t least = 1, most = 1;
    if (take("*"))
      least = 0, most = kUnbounded;
    else if (take("+"))
      most = kUnbounded;
    else if (take("?"))
      least = 0;
    else if (!TRY(counts(least, most)))
      return {};
    if (!may) return bad("a repetition of a place");
    bool lazy = take("?");
    Steps one = cut(start);
    for (uint32_t i = 0; i < least; ++i) TRY(paste(one));
    if (most == kUnbounded) return endless(one, lazy);
    for (uint32_t i = least; i < most; ++i) TRY(optional(one, lazy));
    return {};
  }

  // A { that begins no count is itself, as in JavaScript.
  Result<bool> counts(uint32_t& least, uint32_t& most) {
    size_t start = at_;
    if (!take("{")) return false;
    std::optional<uint32_t> first = number(), second = first;
    if (first && take(",")) {
      second = number();
      if (!second) second = kUnbounded;
    }
    if (!first || !take("}")) {
      at_ = start;
      return false;
    }
    least = *first;
    most = *second;
    if (least > kMaxCount || (most != kUnbounded && most > kMaxCount))
      return bad("it repeats too often");
    if (least > most) return bad("a repetition whose numbers are the wrong way round");
    return true;
  }

  std::optional<uint32_t> number() {
    uint32_t value = 0;
    size_t start = at_;
    while (more() && text_[at_] >= '0' && text_[at_] <= '9' && at_ < start + 5)
      value = value * 10 + static_cast<uint32_t>(next() - '0');
    return at_ == start ? std::nullopt : std::optional(value);
  }

  Result<void> endless(const Steps& one, bool lazy) {
    uint32_t split = here(), behind = split + static_cast<uint32_t>(one.size()) + 2;
    TRY(emit(choice(split + 1, behind, lazy)));
    TRY(paste(one));
    return emit({Op::kJump, split});
  }
  Result<void> optional(const Steps& one, bool lazy) {
    uint32_t split = here();
    TRY(emit(choice(split + 1, split + 1 + static_cast<uint32_t>(one.size()), lazy)));
    return paste(one);
  }
  static Step choice(uint32_t inside, uint32_t behind, bool lazy) {
    return lazy ? Step{Op::kSplit, behind, inside} : Step{Op::kSplit, inside, behind};
  }

  static Set all_but(std::string_view bytes) {
    Set set;
    for (uint64_t& bits : set.bits) bits = ~uint64_t{0};
    for (char c : bytes) set.bits[static_cast<uint8_t>(c) >> 6] &= ~(uint64_t{1} << (c & 63));
    return set;
  }
  static void add_range(Set& set, uint8_t first, uint8_t last) {
    for (int byte = first; byte <= last; ++byte) set.add(static_cast<uint8_t>(byte));
  }

  // What stands behind a backslash, in and out of [ ].
  Result<void> escape(Set& set) {
    if (!more()) return bad("a \\ at the end");
    char c = next();
    Set named;
    switch (c | 0x20) {
      case 'd':
        add_range(named, '0', '9');
        break;
      case 'w':
        add_range(named, '0', '9'), add_range(named, 'a', 'z'), add_range(named, 'A', 'Z');
        named.add('_');
        break;
      case 's':
        for (char space : std::string_view(" \t\n\v\f\r")) named.add(static_cast<uint8_t>(space));
        break;
      default:
        set.add(TRY(escaped_byte(c)));
        return {};
    }
    bool inverse = !(c & 0x20);
    for (int i = 0; i < 4; ++i) set.bits[i] |= inverse ? ~named.bits[i] : named.bits[i];
    return {};
  }

  Result<uint8_t> escaped_byte(char c) {
    constexpr std::string_view kNames = "nrtvf0", kBytes = std::string_view("\n\r\t\v\f\0", 6);
    if (size_t named = kNames.find(c); named != kNames.npos)
      return static_cast<uint8_t>(kBytes[named]);
    if (c == 'x') return static_cast<uint8_t>(TRY(hex_digits(2)));
    if (c == 'u') {
      uint32_t code = TRY(hex_digits(4));
      if (code > 0x7f) return bad("a character beyond ASCII in a class");
      return static_cast<uint8_t>(code);
    }
    if (c >= '1' && c <= '9') return bad("it refers back to a group");
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) return bad(fmt::format("\\{} is not known", c));
    return static_cast<uint8_t>(c);
  }

  Result<uint32_t> hex_digits(size_t count) {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      char c = more() ? next() : ' ';
      size_t digit = kDigits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c | 0x20 : c));
      if (digit == kDigits.npos) return bad("a \\x or \\u without its digits");
      value = value << 4 | static_cast<uint32_t>(digit);
    }
    return value;
  }

  // \uHHHH outside a class: the character's bytes, one step each; it can't be repeated as one.
  Result<bool> code_point() {
    uint32_t code = TRY(hex_digits(4));
    std::string bytes;
    if (code < 0x80) {
      bytes = {static_cast<char>(code)};
    } else if (code < 0x800) {
      bytes = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    } else {
      bytes = {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
               static_cast<char>(0x80 | (code & 63))};
    }
    for (char c : bytes) {
      Set set;
      set.add(static_cast<uint8_t>(c));
      TRY(emit(set));
    }
    return true;
  }

  Result<void> bracket(Set& out) {
    bool inverse = take("^");
    Set set;
    while (!take("]")) {
      if (!more()) return bad("a [ without its ]");
      std::optional<uint8_t> first = TRY(one_of_class(set));
      bool range = first && at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (!range) {
        if (first) set.add(*first);
        continue;
      }
      ++at_;
      std::optional<uint8_t> last = TRY(one_of_class(set));
      if (!last || *last < *first) return bad("a range in [ ] that is none");
      add_range(set, *first, *last);
    }
    for (int i = 0; i < 4; ++i) out.bits[i] = inverse ? ~set.bits[i] : set.bits[i];
    return {};
  }

  // A single byte; none when it was a class such as \d, which is in `set` then.
  Result<std::optional<uint8_t>> one_of_class(Set& set) {
    char c = next();
    if (static_cast<uint8_t>(c) > 0x7f) return bad("a character beyond ASCII in a class");
    if (c != '\\') return std::optional(static_cast<uint8_t>(c));
    if (take("b")) return std::optional(static_cast<uint8_t>(8));
    constexpr std::string_view kClasses = "dDwWsS";
    if (more() && kClasses.find(text_[at_]) != kClasses.npos) {
      TRY(escape(set));
      return std::optional<uint8_t>();
    }
    if (!more()) return bad("a \\ at the end");
    return std::optional(TRY(escaped_byte(next())));
  }

  std::string_view text_;
  size_t at_ = 0;
  int groups_ = 0;
  Extractor made_;
};

Result<Extractor> Extractor::make(std::string_view pattern) {
  if (pattern.size() > kMaxPattern)
    return Error::plain("a pattern to extract with of more than 1 KiB");
  return ExtractCompiler(pattern).run();
}

}  // namespace caisson
