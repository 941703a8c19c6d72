import ArgumentParser
import AssetStore
import RecordStore
import Records

struct AssetsVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare every asset file with its checksum, and every record's assets with the files.",
        discussion: """
            Reports what was checked in each container, and every problem with its remedy. Exits with code 1 if there is a problem. \
            Changes nothing. If a server has the data folder open, the server does the work and continues to serve.

            Examples:
              skylight assets verify
              skylight assets verify --container iCloud.com.example.Chat --json
            """)

    @OptionGroup var filter: ContainerFilterOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let found = try await store.withStore(isNew: false) { store in
            var found: [(assets: any EnvironmentAssets, findings: AssetVerification)] = []
            for assets in try await filter.assets(in: store) {
                let bar = ProgressBar()
                defer { bar.finish() }
                let findings = try await assets.verify { bar.show($0) }
                found.append((assets, findings))
            }
            return found
        }
        if store.json { sayJSON(found) } else { say(found) }
        let problems = found.reduce(0) { $0 + $1.findings.problems.count }
        if problems > 0 {
            throw CommandFailure(
                .failed,
                "\(Output.grouped(problems)) problem\(problems == 1 ? "" : "s") with assets \(problems == 1 ? "was" : "were") found",
                code: "ASSETS_DAMAGED",
                remedy: store.json ? "Each problem's 'explanation' says what to do" : "The lines above say what to do")
        }
    }

    private func say(_ found: [(assets: any EnvironmentAssets, findings: AssetVerification)]) {
        if found.isEmpty { return Output.say("There is nothing to verify.") }
        for (assets, findings) in found {
            let state =
                findings.problems.isEmpty
                ? "no problems"
                : "\(Output.grouped(findings.problems.count)) problem\(findings.problems.count == 1 ? "" : "s")"
            let unused =
                findings.unusedFiles == 0
                ? "" : "; unused: \(Output.files(findings.unusedFiles)), \(ByteCount(findings.unusedBytes))"
            Output.say(
                "\(assets.place): \(Output.files(findings.filesDone)), \(ByteCount(findings.bytesDone)), \(Output.grouped(findings.referencesDone)) "
                    + "reference\(findings.referencesDone == 1 ? "" : "s")\(unused): \(state)")
            for problem in findings.problems {
                Output.say("  \(problem.kind.rawValue)  \(problem.checksum)")
                if let use = problem.use { Output.say("    in \(Self.words(for: use))") }
                Output.say("    \(problem.explanation)")
            }
        }
    }

    private static func words(for use: AssetUse) -> String {
        let owner = use.zoneID.ownerRecordName.map { " of \($0)" } ?? ""
        let zone = use.isPublic ? "the public database" : "zone \(use.zoneID.zoneName)\(owner)"
        return "field '\(use.fieldName)' of \(use.recordType) '\(use.recordName)' in \(zone)"
    }

    private func sayJSON(_ found: [(assets: any EnvironmentAssets, findings: AssetVerification)]) {
        Output.say { writer in
            writer.name("containers")
            writer.array { writer in
                for (assets, findings) in found {
                    writer.object { writer in
                        writer.members(of: assets)
                        writer.member("files", Int64(findings.filesDone))
                        writer.member("bytes", findings.bytesDone)
                        writer.member("references", Int64(findings.referencesDone))
                        writer.member("unusedFiles", Int64(findings.unusedFiles))
                        writer.member("unusedBytes", findings.unusedBytes)
                        writer.name("problems")
                        writer.array { writer in for problem in findings.problems { writer.value(problem) } }
                    }
                }
            }
            writer.member("problemCount", Int64(found.reduce(0) { $0 + $1.findings.problems.count }))
        }
    }
}

extension JSONWriter {
    /// Writes the container and environment.
    mutating func members(of assets: any EnvironmentAssets) {
        member("container", assets.container.description)
        member("environment", assets.environment.rawValue)
    }

    fileprivate mutating func value(_ problem: AssetVerification.Problem) {
        object { writer in
            writer.member("problem", problem.kind.rawValue)
            writer.member("fileChecksum", problem.checksum)
            writer.member("explanation", problem.explanation)
            guard let use = problem.use else { return }
            writer.name("use")
            writer.object { writer in
                writer.member("database", (use.isPublic ? DatabaseScope.public : .private).rawValue)
                writer.name("zoneID")
                writer.value(use.zoneID)
                writer.member("recordName", use.recordName)
                writer.member("recordType", use.recordType)
                writer.member("fieldName", use.fieldName)
            }
        }
    }
}

// MARK: - Sweep

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
    var grace: GracePeriod?

    @OptionGroup var filter: ContainerFilterOptions
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
                Output.say(
                    "  \(file.name)  \(ByteCount(file.bytes))\(file.checksum == nil ? "  (no record ever referred to it)" : "")"
                )
            }
        }
        let (count, bytes) = Self.sum(swept)
        let waiting = swept.map { $0.files.waiting }.saturatedSum
        Output.say("\(dryRun ? "Would remove" : "Removed") \(Output.files(count)), \(ByteCount(bytes)).")
        if waiting > 0 {
            Output.say("Kept: \(Output.files(waiting)) that no record refers to, within the grace time or in use.")
        }
    }

    private static func sum(_ swept: [(assets: any EnvironmentAssets, files: AssetSweep)]) -> (count: Int, bytes: Int64)
    {
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
                                    if let checksum = file.checksum {
                                        writer.member("fileChecksum", checksum.description)
                                    }
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
