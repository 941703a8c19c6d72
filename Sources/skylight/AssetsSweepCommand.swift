import ArgumentParser
import AssetStore
import JSON
import Records
import RecordStore

struct AssetsSweepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep", abstract: "Delete files that no record refers to, and the rest of failed uploads.",
        discussion: """
            A file is kept for a grace time after its last use, and during uploads and downloads. A server sweeps regularly; \
            this command sweeps at once, and lists the files.

            Examples:
              skylight assets sweep --dry-run
                Only lists the files.
              skylight assets sweep --grace 0 --container iCloud.com.example.Chat
            """)

    @Flag(help: "Delete nothing; only list the files.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "How long files are kept after their last use: hours, or a number with s, m, h or d. (default: the server's, else 24 hours)",
            valueName: "time"))
    var grace: GraceTime?

    @OptionGroup var filter: PlaceFilterOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let swept = try await store.withStore(isNew: false) { store in
            var swept: [(assets: any EnvironmentAssets, files: AssetSweep)] = []
            for assets in try await filter.assets(in: store) {
                swept.append((assets, try await assets.sweep(graceTime: grace?.duration, dryRun: dryRun)))
            }
            return swept
        }
        if store.json { sayJSON(swept) } else { say(swept) }
    }

    private func say(_ swept: [(assets: any EnvironmentAssets, files: AssetSweep)]) {
        for (assets, files) in swept where !files.removed.isEmpty {
            Output.say(assets.place)
            for file in files.removed {
                Output.say("  \(file.name)  \(ByteCount(file.bytes))\(file.checksum == nil ? "  (no record ever referred to it)" : "")")
            }
        }
        let (count, bytes) = Self.sum(swept)
        let waiting = swept.map { $0.files.waiting }.saturatedSum
        Output.say("\(dryRun ? "Would remove" : "Removed") \(Output.files(count)), \(ByteCount(bytes)).")
        if waiting > 0 {
            Output.say("Kept: \(Output.files(waiting)) that no record refers to, within the grace time or in use.")
        }
    }

    private static func sum(_ swept: [(assets: any EnvironmentAssets, files: AssetSweep)]) -> (count: Int, bytes: Int64) {
        (swept.reduce(0) { $0 + $1.files.removed.count }, swept.map { $0.files.removedBytes }.saturatedSum)
    }

    private func sayJSON(_ swept: [(assets: any EnvironmentAssets, files: AssetSweep)]) {
        let (count, bytes) = Self.sum(swept)
        Output.say { writer in
            writer.member("dryRun", dryRun)
            writer.name("containers")
            writer.array { writer in
                for (assets, files) in swept {
                    writer.object { writer in
                        writer.members(of: assets)
                        writer.name("removed")
                        writer.array { writer in
                            for file in files.removed {
                                writer.object { writer in
                                    writer.member("name", file.name)
                                    if let checksum = file.checksum { writer.member("fileChecksum", checksum.description) }
                                    writer.member("bytes", file.bytes)
                                }
                            }
                        }
                        writer.member("removedBytes", files.removedBytes)
                        writer.member("waiting", Int64(files.waiting))
                    }
                }
            }
            writer.member("removedFiles", Int64(count))
            writer.member("removedBytes", bytes)
        }
    }
}
