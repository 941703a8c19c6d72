import ArgumentParser
import DataTransfer
import RecordStore
import Records

struct SnapshotCompareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Show what changed since a snapshot, or between two.",
        discussion: """
            With one name, shows the differences of the present from the snapshot. With two, those of the second from the first: added (+), changed (~) \
            and removed (-) records by type, zones, and differences of the schema. The first records of each type are named.

            The exit code is 0 without and 1 with differences, for scripts. Errors end with 64 to 77.

            Examples:
              skylight snapshot compare 'Before the migration' \\
                --container iCloud.com.example.App
              skylight snapshot compare Monday Tuesday \\
                --container iCloud.com.example.App
            """)

    @Argument(help: "The snapshot.")
    var name: String

    @Argument(help: "Another snapshot. (default: the present)")
    var other: String?

    @OptionGroup var options: SnapshotOptions

    func run() async throws {
        let comparison: SnapshotComparison
        do {
            comparison = try await compared()
        } catch {
            throw CommandFailure.otherThanDifferent(error)
        }
        options.store.output.say(
            lines: comparison.isEmpty
                ? [
                    "No difference between '\(name)' and \(other.map { "'\($0)'" } ?? "the present") of \(options.place)."
                ]
                : ["--- \(name)", "+++ \(other ?? "the present")"] + comparison.lines
        ) { writer in
            writer.member("different", !comparison.isEmpty)
            writer.member("from", name)
            if let other { writer.member("to", other) }
            writer.members(of: comparison)
        }
        if !comparison.isEmpty { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func compared() async throws -> SnapshotComparison {
        let folder = try options.folder()
        let before = try folder.snapshot(named: name)
        if let other { return try await folder.compare(before, with: folder.snapshot(named: other)) }
        let watch = folder.abandonedAtSignals()
        defer { watch.cancel() }
        return try await options.store.withStore(isNew: false) { store in
            try await store.checkExists(options.container, options.environment)
            let bar = ProgressBar()
            defer { bar.finish() }
            return try await folder.compare(
                before, withPresentOf: store.snapshotSource(options.container, options.environment)
            ) { bar.show($0) }
        }
    }
}

extension SnapshotComparison.Kind {
    var mark: String {
        switch self {
        case .added: "+"
        case .changed: "~"
        case .removed: "-"
        }
    }
}

extension SnapshotComparison.Counts {
    /// `2 added, 1 changed`
    var words: String {
        SnapshotComparison.Kind.allCases.filter { self[$0] > 0 }.map { "\(Output.grouped(self[$0])) \($0.rawValue)" }
            .joined(separator: ", ")
    }
}

extension SnapshotComparison {
    /// The differences in lines: the counts of each type with the first records, zones, and the schema.
    var lines: [String] {
        var lines: [String] = []
        for (type, counts) in types.sorted(by: { $0.key < $1.key }) {
            lines.append("\(type): \(counts.words)")
            for kind in Kind.allCases {
                let named = entries.filter { $0.recordType == type && $0.kind == kind }
                lines += named.map { "  \(kind.mark) \($0.words)" }
                if counts[kind] > named.count {
                    lines.append("  \(kind.mark) … and \(Output.grouped(counts[kind] - named.count)) more")
                }
            }
        }
        lines += zones.map {
            "\($0.kind.mark) zone \($0.zoneName) of \($0.user.handle ?? $0.user.userRecordName.string)"
        }
        if subscriptions.total > 0 { lines.append("Subscriptions: \(subscriptions.words)") }
        if keyValues.total > 0 { lines.append("Keys of key-value stores: \(keyValues.words)") }
        return lines + SchemaChangeLines.lines(for: schema) + otherSchemaChanges
    }
}

extension SnapshotComparison.Entry {
    /// `Message/17 in Chats of ada: text, sentAt`
    fileprivate var words: String {
        let zone = zoneID.isDefault ? "" : " in \(zoneID.zoneName)"
        let owner = user.map { " of \($0.handle ?? $0.userRecordName.string)" } ?? " (public)"
        return "\(recordName)\(zone)\(owner)"
            + (fields.isEmpty ? "" : ": \(fields.map(\.string).joined(separator: ", "))")
    }
}

extension JSONWriter {
    mutating func members(of comparison: SnapshotComparison) {
        member("records") { $0.counts(comparison.records) }
        member("equal", Int64(comparison.equal))
        name("types")
        object { writer in
            for (type, counts) in comparison.types.sorted(by: { $0.key < $1.key }) {
                writer.name(type)
                writer.counts(counts)
            }
        }
        member("first", objects: comparison.entries) { writer, entry in
            writer.member("change", entry.kind.rawValue)
            if let user = entry.user { writer.member("user", user.handle ?? user.userRecordName.string) }
            writer.member("zoneID") { $0.value(entry.zoneID) }
            writer.member("recordName", entry.recordName)
            writer.member("recordType", entry.recordType)
            if entry.kind == .changed { writer.member("fields", values: entry.fields) { $0.value($1) } }
        }
        member("zones", objects: comparison.zones) { writer, zone in
            writer.member("change", zone.kind.rawValue)
            writer.member("user", zone.user.handle ?? zone.user.userRecordName.string)
            writer.member("zoneName", zone.zoneName)
        }
        member("subscriptions") { $0.counts(comparison.subscriptions) }
        member("keyValues") { $0.counts(comparison.keyValues) }
        member("schema", comparison.schema)
        if !comparison.otherSchemaChanges.isEmpty {
            member("otherSchemaChanges", values: comparison.otherSchemaChanges) { $0.value($1) }
        }
    }

    private mutating func counts(_ counts: SnapshotComparison.Counts) {
        object { writer in
            writer.member("added", Int64(counts.added))
            writer.member("changed", Int64(counts.changed))
            writer.member("removed", Int64(counts.removed))
        }
    }
}
