internal import Accounts
package import Console
internal import DataTransfer
internal import RecordStore
internal import Records

/// The differences between a snapshot and the present or another snapshot; or those that a restoration removes, with
/// its button.
package enum SnapshotView {
    /// The differences of the present, or of the snapshot that the address names, from a snapshot.
    package static func compare(_ visit: Visit) async throws -> ComponentPage {
        try await RecordError.ofSnapshots {
            let (shelf, place) = (visit.shelf, visit.place)
            let folder = shelf.folder
            let snapshot = try folder.snapshot(named: visit.fields["name"] ?? "")
            let other = try visit.fields.text("with").map { try folder.snapshot(named: $0) }
            let comparison: SnapshotComparison
            if let other {
                comparison = try await visit.measure { try await folder.compare(snapshot, with: other) }
            } else {
                comparison = try await visit.measure {
                    try await folder.compare(snapshot, withPresentOf: shelf.source())
                }
            }
            let choices =
                [Choice("", "the current data", isSelected: other == nil)]
                + (try folder.all()).filter { $0.url != snapshot.url }.map {
                    Choice($0.name, $0.name, isSelected: $0.url == other?.url)
                }
            let to = other?.name ?? "the current data"
            return ComponentPage(
                .snapshots,
                PageHead(
                    snapshot.name, crumb: .link("Snapshots", place.link("snapshots")),
                    ["The changes from \(strong: snapshot.name) to \(strong: to). \(comparison.equalWords)."],
                    forms: [
                        .choosing(
                            "snapshots/compare", at: place, keeping: [("name", snapshot.name)],
                            [FormField(.choice(choices), "with", "compare with")], button: "Compare")
                    ],
                    actions: [.button("Restore…", place.link("snapshots/restore", [("name", snapshot.name)]))]),
                (comparison.isEmpty ? [Note(good: "Nothing differs.")] : [])
                    + differences(comparison, from: snapshot.name, to: to, absent: .removed, visit))
        }
    }

    /// The changes of a restoration, and its button.
    package static func askToRestore(_ visit: Visit) async throws -> ComponentPage {
        try await RecordError.ofSnapshots {
            let (shelf, snapshots) = (visit.shelf, visit.place.link("snapshots"))
            let folder = shelf.folder
            let snapshot = try folder.snapshot(named: visit.fields["name"] ?? "")
            let plan = try await visit.measure {
                try await SnapshotRestorer(snapshot, in: folder, into: shelf.source()).plan()
            }
            let counts = plan.records
            let effects = [
                (counts.added, "brings back", "record"), (counts.changed, "changes", "record"),
                (counts.removed, "deletes", "record"), (plan.schemaChanges, "makes", "schema change"),
            ].filter { $0.0 > 0 }
                .map { "\($0.1) \(Digits.count($0.0, $0.2))" }
            let effect =
                effects.isEmpty
                ? "changes no record"
                : effects.dropLast().joined(separator: ", ") + (effects.count > 1 ? " and " : "") + (effects.last ?? "")
            let answer: any Component =
                if plan.isEmpty {
                    Note(
                        good: "Nothing differs.", "There is nothing to restore.",
                        [Paragraph.actions([.button("Back", snapshots)])])
                } else {
                    Section(
                        "effects", "Effects",
                        [
                            Listing(
                                [
                                    "The current data is saved first, as the snapshot \(strong: "Before restoring \(snapshot.name)"). Restore that to undo it.",
                                    "All change tokens expire: clients drop them, and fetch everything again.",
                                    "Subscriptions fire for the records that it saves and deletes.",
                                ], style: "dots"),
                            Form(
                                .line, visit.place.link("snapshots/restore"),
                                hidden: [
                                    Frame.Hidden(name: "name", value: snapshot.name),
                                    Frame.Hidden(name: "total", value: String(counts.total)),
                                ], [], button: "Restore it", buttonStyle: "go danger",
                                links: [.button("Cancel", snapshots)]),
                        ])
                }
            return ComponentPage(
                .snapshots,
                PageHead(
                    "Restore ‘\(snapshot.name)’?", crumb: .link("Snapshots", snapshots),
                    ["This \(effect), and leaves \(plan.equalWords) as they are."]),
                [answer] + differences(plan, from: "the current data", to: snapshot.name, absent: .added, visit))
        }
    }

    // MARK: Differences

    /// - Parameter absent: the kind of records that are not there now.
    private static func differences(
        _ comparison: SnapshotComparison, from: String, to: String, absent: SnapshotComparison.Kind, _ visit: Visit
    ) -> [any Component] {
        var others = comparison.zones.map { zone in
            "The zone \(zone.zoneName) of \(visit.people.name(of: zone.user.userRecordName)) is \(zone.kind.rawValue)."
        }
        for (counts, noun) in [(comparison.subscriptions, "subscription"), (comparison.keyValues, "key")] {
            for kind in SnapshotComparison.Kind.allCases where counts[kind] > 0 {
                others.append(
                    "\(Digits.count(counts[kind], noun)) \(counts[kind] == 1 ? "is" : "are") \(kind.rawValue).")
            }
        }
        let groups = comparison.types.sorted { $0.key < $1.key }.map { type, counts in
            let entries = comparison.entries.filter { $0.recordType == type }
            let left = counts.total - entries.count
            return Table.Group(
                Inline(type.string) + counts.inline, entries.map { row($0, absent: absent, visit) },
                more: left > 0 ? "… and \(Digits.grouped(left)) more" : nil)
        }
        var parts: [any Component] = [
            Table(
                "Records that differ", style: .differing,
                [.column("record", "name"), "change", .column("fields", "wide"), "zone", "of"], groups: groups)
        ]
        if !others.isEmpty {
            parts.append(Section("others", "Zones, subscriptions and keys", [Listing(others.map { Inline($0) })]))
        }
        var schema: [any Component] = []
        if !comparison.schema.isEmpty {
            schema.append(
                SchemaChangeList(comparison.schema, of: visit.schema ?? .initial, before: from, after: to))
        }
        if !comparison.otherSchemaChanges.isEmpty {
            schema.append(Listing(comparison.otherSchemaChanges.map { Inline($0) }))
        }
        if !schema.isEmpty { parts.append(Section("changes", "Schema changes", schema)) }
        return parts
    }

    private static func row(
        _ entry: SnapshotComparison.Entry, absent: SnapshotComparison.Kind, _ visit: Visit
    ) -> Table.Row {
        let place = visit.place.with { place in
            place.address.scope = entry.user == nil ? .public : .private
            let handle = entry.user.flatMap { visit.people.user($0.userRecordName)?.handle }
            if entry.user != nil { place.user = handle == User.developerHandle ? nil : handle }
        }
        let name = entry.recordName.string
        return Table.Row([
            entry.kind == absent
                ? Inline(name) : .link(name, place.link(toRecord: entry.recordName, in: entry.zoneID)),
            Inline(entry.kind.rawValue).styled("state \(entry.kind.tone)"),
            Inline(entry.fields.map(\.string).joined(separator: ", ")), Inline(entry.zoneID.zoneName.string),
            Inline(entry.user.map { visit.people.name(of: $0.userRecordName) } ?? "public"),
        ])
    }
}

extension SnapshotComparison {
    fileprivate var equalWords: String { Digits.count(equal, "equal record") }
}

extension SnapshotComparison.Kind {
    fileprivate var tone: String {
        switch self {
        case .added: "good"
        case .changed: "modified"
        case .removed: "bad"
        }
    }
}

extension SnapshotComparison.Counts {
    /// ` 2 added 1 removed`
    fileprivate var inline: Inline {
        SnapshotComparison.Kind.allCases.filter { self[$0] > 0 }.reduce("") { counts, kind in
            "\(counts) \(Inline("\(Digits.grouped(self[kind])) \(kind.rawValue)").styled(kind.tone))"
        }
    }
}
