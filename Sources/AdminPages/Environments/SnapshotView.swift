internal import Accounts
package import Console
internal import DataTransfer
internal import RecordStore
internal import Records

/// The differences between a snapshot and the present or another snapshot; or those that a restoration removes, with
/// its button.
package struct SnapshotView: Page {
    package static let template = "snapshot"
    package static let tab = Tab.snapshots

    struct TypeRow: ViewModel {
        let name: String
        let added: String?
        let changed: String?
        let removed: String?
        let records: [RecordRow]
        /// `… and 12 more`; `nil` if the page names all.
        let more: String?
    }

    struct RecordRow: ViewModel {
        /// `added`, `changed` or `removed`.
        let kind: String
        let tone: String
        let name: String
        /// `nil` for a record that is not there now.
        let href: String?
        let zone: String
        let owner: String
        let fields: String?
    }

    /// The question before a restoration.
    struct Restoration: ViewModel {
        let action: String
        let name: String
        let total: String
        /// `adds 2 records and deletes 3 records`
        let effect: String
        let before: String
        let cancel: String
    }

    package let title: String
    /// The states of both sides: the columns are the changes from the first to the second.
    let from: String
    let to: String
    /// `nil` on the page of a restoration.
    let comparing: Comparing?
    let restoration: Restoration?
    /// True if nothing differs.
    let isEqual: Bool
    let equal: String
    let types: [TypeRow]
    /// Differences of zones, subscriptions and keys, one per line.
    let others: [String]
    let changes: SchemaChangeList?
    let back: String

    /// The form that chooses the other side.
    struct Comparing: ViewModel {
        let action: String
        /// The place and the snapshot.
        let hidden: [Frame.Hidden]
        let choices: [Choice]
        let restore: String
    }
}

extension SnapshotView {
    /// The differences of the present, or of the snapshot that the address names, from a snapshot.
    package static func compare(_ visit: Visit) async throws -> SnapshotView {
        try await RecordError.ofSnapshots {
            let shelf = visit.shelf
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
            let place = visit.place
            return SnapshotView(
                snapshot.name, from: snapshot.name, to: other?.name ?? "the current data", comparison, visit,
                absent: .removed,
                comparing: Comparing(
                    action: "\(place.path)/snapshots/compare",
                    hidden: (place.parameters + [("name", snapshot.name)]).map {
                        Frame.Hidden(name: $0.name, value: $0.value)
                    }, choices: choices,
                    restore: place.link("snapshots/restore", [("name", snapshot.name)])),
                restoration: nil)
        }
    }

    /// The changes of a restoration, and its button.
    package static func askToRestore(_ visit: Visit) async throws -> SnapshotView {
        try await RecordError.ofSnapshots {
            let shelf = visit.shelf
            let folder = shelf.folder
            let snapshot = try folder.snapshot(named: visit.fields["name"] ?? "")
            let plan = try await visit.measure {
                try await SnapshotRestorer(snapshot, in: folder, into: shelf.source()).plan()
            }
            let counts = plan.records
            let effects = [(counts.added, "brings back"), (counts.changed, "changes"), (counts.removed, "deletes")]
                .filter { $0.0 > 0 }
                .map { "\($0.1) \(Digits.count($0.0, "record"))" }
            let effect =
                effects.isEmpty
                ? "changes no record"
                : effects.dropLast().joined(separator: ", ") + (effects.count > 1 ? " and " : "") + (effects.last ?? "")
            return SnapshotView(
                "Restore ‘\(snapshot.name)’?", from: "the current data", to: snapshot.name, plan, visit, absent: .added,
                comparing: nil,
                restoration: Restoration(
                    action: visit.place.link("snapshots/restore"), name: snapshot.name, total: String(counts.total),
                    effect: effect,
                    before: "Before restoring \(snapshot.name)", cancel: visit.place.link("snapshots")))
        }
    }

    /// - Parameter absent: the kind of records that are not there now.
    private init(
        _ title: String, from: String, to: String, _ comparison: SnapshotComparison, _ visit: Visit,
        absent: SnapshotComparison.Kind,
        comparing: Comparing?, restoration: Restoration?
    ) {
        (self.title, self.from, self.to, self.comparing, self.restoration) = (title, from, to, comparing, restoration)
        isEqual = comparison.isEmpty
        equal = Digits.count(comparison.equal, "equal record")
        types = comparison.types.sorted { $0.key < $1.key }.map { type, counts in
            TypeRow(type, counts, comparison.entries.filter { $0.recordType == type }, visit, absent: absent)
        }
        var others = comparison.zones.map { zone in
            "The zone \(zone.zoneName) of \(visit.people.name(of: zone.user.userRecordName)) is \(zone.kind.rawValue)."
        }
        for (counts, noun) in [(comparison.subscriptions, "subscription"), (comparison.keyValues, "key")] {
            for kind in SnapshotComparison.Kind.allCases where counts[kind] > 0 {
                others.append(
                    "\(Digits.count(counts[kind], noun)) \(counts[kind] == 1 ? "is" : "are") \(kind.rawValue).")
            }
        }
        self.others = others
        changes =
            comparison.schema.isEmpty
            ? nil : SchemaChangeList(comparison.schema, of: visit.schema ?? .initial, before: from, after: to)
        back = visit.place.link("snapshots")
    }
}

extension SnapshotView.TypeRow {
    fileprivate init(
        _ type: Name, _ counts: SnapshotComparison.Counts, _ entries: [SnapshotComparison.Entry], _ visit: Visit,
        absent: SnapshotComparison.Kind
    ) {
        func count(_ number: Int) -> String? { number == 0 ? nil : Digits.grouped(number) }
        (name, added, changed, removed) = (
            type.string, count(counts.added), count(counts.changed), count(counts.removed)
        )
        records = entries.map { SnapshotView.RecordRow($0, visit, absent: absent) }
        let left = counts.total - entries.count
        more = left > 0 ? "… and \(Digits.grouped(left)) more" : nil
    }
}

extension SnapshotView.RecordRow {
    fileprivate init(_ entry: SnapshotComparison.Entry, _ visit: Visit, absent: SnapshotComparison.Kind) {
        kind = entry.kind.rawValue
        tone =
            switch entry.kind {
            case .added: "good"
            case .changed: "modified"
            case .removed: "bad"
            }
        name = entry.recordName.string
        zone = entry.zoneID.zoneName.string
        owner = entry.user.map { visit.people.name(of: $0.userRecordName) } ?? "public"
        fields = entry.fields.isEmpty ? nil : entry.fields.map(\.string).joined(separator: ", ")
        let place = visit.place.with { place in
            place.address.scope = entry.user == nil ? .public : .private
            let handle = entry.user.flatMap { visit.people.user($0.userRecordName)?.handle }
            if entry.user != nil { place.user = handle == User.developerHandle ? nil : handle }
        }
        href = entry.kind == absent ? nil : place.link(toRecord: entry.recordName, in: entry.zoneID)
    }
}
