import ArgumentParser

/// Measures the store in this process, without a server around it. docs/benchmarks.md says what for.
@main
struct SkylightBenchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skylight-benchmarks", abstract: "Measures the store without a server; `make bench` runs it.",
        subcommands: [Fill.self, Play.self, Fetch.self, Save.self, Index.self, Tree.self, Match.self])
}
