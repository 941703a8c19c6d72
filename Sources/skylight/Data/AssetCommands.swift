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
        let problems = found.reduce(0) { $0 + $1.findings.problems.count }
        store.output.say(lines: lines(found)) { writer in
            writer.member("containers", objects: found) { $0.members(of: $1.assets, $1.findings) }
            writer.member("problemCount", Int64(problems))
        }
        if problems > 0 {
            throw CommandFailure(
                .failed,
                "\(Output.grouped(problems)) problem\(problems == 1 ? "" : "s") with assets \(problems == 1 ? "was" : "were") found",
                code: "ASSETS_DAMAGED",
                remedy: store.output.isJSON
                    ? "Each problem's 'explanation' says what to do" : "The lines above say what to do")
        }
    }

    private func lines(_ found: [(assets: any EnvironmentAssets, findings: AssetVerification)]) -> [String] {
        if found.isEmpty { return ["There is nothing to verify."] }
        var lines: [String] = []
        for (assets, findings) in found {
            let state =
                findings.problems.isEmpty
                ? "no problems"
                : "\(Output.grouped(findings.problems.count)) problem\(findings.problems.count == 1 ? "" : "s")"
            let unused =
                findings.unusedFiles == 0
                ? "" : "; unused: \(Output.files(findings.unusedFiles)), \(ByteCount(findings.unusedBytes))"
            lines.append(
                "\(assets.place): \(Output.files(findings.filesDone)), \(ByteCount(findings.bytesDone)), \(Output.grouped(findings.referencesDone)) "
                    + "reference\(findings.referencesDone == 1 ? "" : "s")\(unused): \(state)")
            for problem in findings.problems {
                lines.append("  \(problem.kind.rawValue)  \(problem.checksum)")
                if let use = problem.use { lines.append("    in \(Self.words(for: use))") }
                lines.append("    \(problem.explanation)")
            }
        }
        return lines
    }

    private static func words(for use: AssetUse) -> String {
        let owner = use.zoneID.ownerRecordName.map { " of \($0)" } ?? ""
        let zone = use.isPublic ? "the public database" : "zone \(use.zoneID.zoneName)\(owner)"
        return "field '\(use.fieldName)' of \(use.recordType) '\(use.recordName)' in \(zone)"
    }
}

extension JSONWriter {
    /// Writes the container and environment.
    mutating func members(of assets: any EnvironmentAssets) {
        member("container", assets.container.description)
        member("environment", assets.environment.rawValue)
    }

    fileprivate mutating func members(of assets: any EnvironmentAssets, _ findings: AssetVerification) {
        members(of: assets)
        member("files", Int64(findings.filesDone))
        member("bytes", findings.bytesDone)
        member("references", Int64(findings.referencesDone))
        member("unusedFiles", Int64(findings.unusedFiles))
        member("unusedBytes", findings.unusedBytes)
        findings.problems.write(as: "problems", into: &self)
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
        let count = swept.reduce(0) { $0 + $1.files.removed.count }
        let bytes = swept.map { $0.files.removedBytes }.saturatedSum
        store.output.say(
            lines: Self.lines(swept) + [
                "\(dryRun ? "Would remove" : "Removed") \(Output.files(count)), \(ByteCount(bytes))."
            ] + Self.kept(swept.map { $0.files.waiting }.saturatedSum)
        ) { writer in
            writer.member("dryRun", dryRun)
            writer.member("containers", objects: swept) { writer, swept in
                writer.members(of: swept.assets)
                swept.files.removed.write(as: "removed", into: &writer)
                writer.member("removedBytes", swept.files.removedBytes)
                writer.member("waiting", Int64(swept.files.waiting))
            }
            writer.member("removedFiles", Int64(count))
            writer.member("removedBytes", bytes)
        }
    }

    private static func lines(_ swept: [(assets: any EnvironmentAssets, files: AssetSweep)]) -> [String] {
        swept.filter { !$0.files.removed.isEmpty }.flatMap { assets, files in
            [assets.place]
                + files.removed.map { file in
                    let origin = file.checksum == nil ? "  (no record ever referred to it)" : ""
                    return "  \(file.name)  \(ByteCount(file.bytes))\(origin)"
                }
        }
    }

    private static func kept(_ count: Int) -> [String] {
        if count == 0 { return [] }
        return ["Kept: \(Output.files(count)) that no record refers to, within the grace time or in use."]
    }
}
