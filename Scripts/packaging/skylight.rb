# The Homebrew formula, of which .github/workflows/packages.yml fills in address, version and checksum. Not run by the tests.
class Skylight < Formula
  desc "Local server for CloudKit Web Services, with a console"
  homepage "@HOMEPAGE@"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license :cannot_represent
  depends_on arch: :arm64
  depends_on macos: :sequoia

  def install
    bin.install "bin/skylight"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/skylight"
    zsh_completion.install "share/zsh/site-functions/_skylight"
    fish_completion.install "share/fish/vendor_completions.d/skylight.fish"
    doc.install Dir["share/doc/skylight/*"]
  end

  service do
    run [opt_bin/"skylight", "serve", "--data", var/"skylight"]
    keep_alive crashed: true
    log_path var/"log/skylight.log"
    error_log_path var/"log/skylight.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/skylight --version")
  end
end
