// The installations that caisson knows, one row each.
#include "policy/toolchains.h"

namespace caisson {

namespace {

using Names = const std::string_view[];

constexpr Names kWhole = {""};
constexpr Names kPrefix = {"bin", "include", "lib", "lib64", "share", "etc/jupyter", "pyvenv.cfg"};
// Not etc/conda: activate.d is where people keep the keys of their projects.
constexpr Names kConda = {"bin",
                          "condabin",
                          "conda-meta",
                          "include",
                          "lib",
                          "lib64",
                          "libexec",
                          "share",
                          "ssl",
                          "etc/fonts",
                          "x86_64-conda-linux-gnu",
                          "aarch64-conda-linux-gnu"};
constexpr Names kNode = {"bin", "include", "lib", "share"};  // not etc: npmrc
constexpr Names kAsdf = {"asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims"};
constexpr Names kMise = {"installs", "plugins", "shims"};
constexpr Names kRustup = {"settings.toml", "toolchains", "update-hashes"};
constexpr Names kGo = {"VERSION", "api", "bin", "go.env", "lib", "misc", "pkg", "src"};
constexpr Names kFnm = {"aliases", "node-versions"};
constexpr Names kBrew = {"Cellar",        "bin",     "etc/ca-certificates",
                         "etc/openssl@3", "include", "lib",
                         "opt",           "sbin",    "share"};

constexpr Names kVenvPaths = {"VIRTUAL_ENV"};
constexpr Names kCondaPaths = {"CONDA_PREFIX"};
constexpr Names kNvmPaths = {"NVM_BIN", "NVM_DIR"};
constexpr Names kAsdfPaths = {"ASDF_DIR"};
constexpr Names kGoPaths = {"GOROOT"};
constexpr Names kFnmPaths = {"FNM_DIR", "FNM_MULTISHELL_PATH"};
constexpr Names kJavaPaths = {"JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME"};
constexpr Names kBrewPaths = {"HOMEBREW_PREFIX", "HOMEBREW_CELLAR"};

constexpr Installation kInstallations[] = {
    {.name = "virtualenv", .marker = "pyvenv.cfg", .expose = kPrefix, .paths = kVenvPaths},
    {.name = "conda",
     .marker = "conda-meta",
     .expose = kConda,
     .paths = kCondaPaths,
     .is_base = true},
    {.name = "go", .marker = "src/runtime/proc.go", .expose = kGo, .paths = kGoPaths},
    {.name = "pyenv",
     .base = ".pyenv",
     .base_variable = "PYENV_ROOT",
     .expose = kWhole,
     .version_variable = "PYENV_VERSION",
     .home_variable = "PYENV_ROOT",
     .is_base = true},
    {.name = "nvm",
     .base = ".nvm",
     .below = "versions/node/*",
     .base_variable = "NVM_DIR",
     .expose = kNode,
     .paths = kNvmPaths},
    {.name = "asdf",
     .base = ".asdf",
     .base_variable = "ASDF_DATA_DIR",
     .expose = kAsdf,
     .paths = kAsdfPaths,
     .home_variable = "ASDF_DATA_DIR",
     .is_base = true},
    {.name = "mise",
     .base = ".local/share/mise",
     .base_variable = "MISE_DATA_DIR",
     .expose = kMise,
     .home_variable = "MISE_DATA_DIR",
     .is_base = true},
    // ~/.cargo/bin only, never ~/.cargo: credentials.toml lies there.
    {.name = "cargo",
     .base = ".cargo",
     .below = "bin",
     .base_variable = "CARGO_HOME",
     .expose = kWhole,
     .also = "rustup"},
    {.name = "rustup",
     .base = ".rustup",
     .base_variable = "RUSTUP_HOME",
     .expose = kRustup,
     .version_variable = "RUSTUP_TOOLCHAIN",
     .home_variable = "RUSTUP_HOME"},
    {.name = "go programs", .base = "go", .below = "bin", .base_variable = "GOPATH"},
    {.name = "nix", .base = "/nix/store", .expose = kWhole, .is_base = true},
    // Not ~/.local/share/uv itself: credentials lie there.
    {.name = "uv",
     .base = ".local/share/uv",
     .below = "python/*",
     .expose = kWhole,
     .is_base = true},
    {.name = "uv", .base = ".local/share/uv", .below = "tools/*", .expose = kPrefix},
    {.name = "pipx",
     .base = ".local/share/pipx",
     .below = "venvs/*",
     .base_variable = "PIPX_HOME",
     .expose = kPrefix},
    {.name = "fnm",
     .base = ".local/share/fnm",
     .base_variable = "FNM_DIR",
     .expose = kFnm,
     .paths = kFnmPaths},
    {.name = "volta",
     .base = ".volta",
     .base_variable = "VOLTA_HOME",
     .expose = kWhole,
     .home_variable = "VOLTA_HOME"},
    {.name = "sdkman",
     .base = ".sdkman",
     .below = "candidates",
     .base_variable = "SDKMAN_DIR",
     .expose = kWhole,
     .paths = kJavaPaths},
    {.name = "rbenv",
     .base = ".rbenv",
     .base_variable = "RBENV_ROOT",
     .expose = kWhole,
     .version_variable = "RBENV_VERSION",
     .home_variable = "RBENV_ROOT"},
    {.name = "linuxbrew",
     .base = "/home/linuxbrew/.linuxbrew",
     .expose = kBrew,
     .paths = kBrewPaths,
     .is_base = true},
    {.name = "linuxbrew",
     .base = ".linuxbrew",
     .expose = kBrew,
     .paths = kBrewPaths,
     .is_base = true},
    {.name = "claude", .base = ".local/share/claude", .below = "versions"},
    {.name = "bun", .base = ".bun", .below = "bin", .base_variable = "BUN_INSTALL"},
    {.name = "deno", .base = ".deno", .below = "bin", .base_variable = "DENO_INSTALL"},
    {.name = "user programs", .base = ".local/bin"},
};

}  // namespace

std::span<const Installation> installations() { return kInstallations; }

}  // namespace caisson
