#include "seccomp/evaluator.h"

#include <cstddef>
#include <cstring>
#include <optional>

namespace caisson {

namespace {

// One run. Jumps only go forward, so a run takes at most as many steps as there are instructions.
class Machine {
 public:
  Machine(std::span<const sock_filter> program, const seccomp_data& data)
      : program_(program), data_(data) {}

  Evaluation run() {
    if (program_.size() > BPF_MAXINSNS) return result_;
    while (at_ < program_.size()) {
      const sock_filter& op = program_[at_++];
      ++result_.steps;
      if (BPF_CLASS(op.code) == BPF_RET) {
        if (auto verdict = returned(op)) result_.verdict = *verdict;
        return result_;
      }
      if (!execute(op)) return result_;
    }
    return result_;
  }

 private:
  std::optional<uint32_t> returned(const sock_filter& op) const {
    if (op.code == (BPF_RET | BPF_K)) return op.k;
    if (op.code == (BPF_RET | BPF_A)) return a_;
    return {};
  }

  bool execute(const sock_filter& op) {
    switch (BPF_CLASS(op.code)) {
      case BPF_LD:
        return load(op, a_);
      case BPF_LDX:
        return load(op, x_);
      case BPF_ST:
        return op.code == BPF_ST && store(op.k, a_);
      case BPF_STX:
        return op.code == BPF_STX && store(op.k, x_);
      case BPF_ALU:
        return calculate(op);
      case BPF_JMP:
        return jump(op);
      default:
        return transfer(op);
    }
  }

  bool load(const sock_filter& op, uint32_t& into) {
    bool is_a = BPF_CLASS(op.code) == BPF_LD;
    if (BPF_SIZE(op.code) != BPF_W) return false;
    switch (BPF_MODE(op.code)) {
      case BPF_IMM:
        into = op.k;
        return true;
      case BPF_LEN:
        into = sizeof(seccomp_data);
        return true;
      case BPF_ABS:
        return is_a && load_data(op.k);
      case BPF_MEM:
        if (op.k >= BPF_MEMWORDS || !written_[op.k]) return false;
        into = memory_[op.k];
        return true;
      default:
        return false;
    }
  }

  // seccomp(2): aligned 32-bit words of struct seccomp_data, nothing else.
  bool load_data(uint32_t offset) {
    if (offset % 4 != 0 || offset >= sizeof(seccomp_data)) return false;
    if (offset != offsetof(seccomp_data, nr) && offset != offsetof(seccomp_data, arch))
      result_.read_arguments = true;
    std::memcpy(&a_, reinterpret_cast<const char*>(&data_) + offset, sizeof a_);
    return true;
  }

  bool store(uint32_t slot, uint32_t value) {
    if (slot >= BPF_MEMWORDS) return false;
    memory_[slot] = value;
    written_[slot] = true;
    return true;
  }

  bool calculate(const sock_filter& op) {
    uint32_t operand = BPF_SRC(op.code) == BPF_X ? x_ : op.k;
    switch (BPF_OP(op.code)) {
      case BPF_ADD:
        a_ += operand;
        return true;
      case BPF_SUB:
        a_ -= operand;
        return true;
      case BPF_MUL:
        a_ *= operand;
        return true;
      case BPF_DIV:
        if (operand == 0) return false;
        a_ /= operand;
        return true;
      case BPF_OR:
        a_ |= operand;
        return true;
      case BPF_AND:
        a_ &= operand;
        return true;
      case BPF_XOR:
        a_ ^= operand;
        return true;
      case BPF_LSH:
        a_ = operand < 32 ? a_ << operand : 0;
        return operand < 32;
      case BPF_RSH:
        a_ = operand < 32 ? a_ >> operand : 0;
        return operand < 32;
      case BPF_NEG:
        a_ = -a_;
        return BPF_SRC(op.code) == BPF_K;
      default:
        return false;
    }
  }

  bool jump(const sock_filter& op) {
    if (op.code == (BPF_JMP | BPF_JA)) return skip(op.k);
    uint32_t operand = BPF_SRC(op.code) == BPF_X ? x_ : op.k;
    switch (BPF_OP(op.code)) {
      case BPF_JEQ:
        return skip(a_ == operand ? op.jt : op.jf);
      case BPF_JGT:
        return skip(a_ > operand ? op.jt : op.jf);
      case BPF_JGE:
        return skip(a_ >= operand ? op.jt : op.jf);
      case BPF_JSET:
        return skip(a_ & operand ? op.jt : op.jf);
      default:
        return false;
    }
  }

  bool skip(uint32_t count) {
    if (count >= program_.size() - at_) return false;
    at_ += count;
    return true;
  }

  bool transfer(const sock_filter& op) {
    if (op.code == (BPF_MISC | BPF_TAX)) return x_ = a_, true;
    if (op.code == (BPF_MISC | BPF_TXA)) return a_ = x_, true;
    return false;
  }

  std::span<const sock_filter> program_;
  const seccomp_data& data_;
  Evaluation result_;
  size_t at_ = 0;
  uint32_t a_ = 0, x_ = 0;
  uint32_t memory_[BPF_MEMWORDS] = {};
  bool written_[BPF_MEMWORDS] = {};
};

}  // namespace

Evaluation evaluate_fully(std::span<const sock_filter> program, const seccomp_data& data) {
  return Machine(program, data).run();
}

}  // namespace caisson
