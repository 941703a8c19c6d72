internal import AssetStore
package import Console
internal import RecordStore
internal import Records

/// The page with the complete history of a record.
package enum RecordHistoryView {
    /// The number of changes on a page.
    private static let limit = 25

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let (name, zoneID) = try RecordRestoring.target(visit)
        let before = try visit.fields.text("before").map { text in
            guard let position = Int64(text) else {
                throw RecordError(.badRequest, "‘\(text)’ is not the position of a change")
            }
            return position
        }
        let history = try await RecordHistory.load(name, in: zoneID, before: before, limit: limit, visit)
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let titles = try await ReferencedTitles(CollectionOfOne(recordID), known: [], visit)
        let nothing = before == nil ? "No history for a record with this name" : "No earlier history is kept"
        let versions: any Component =
            if let history { Section("versions", "Versions", style: "past", [history]) } else { EmptyState(nothing) }
        return ComponentPage(
            .fetch, title: "History of \(name)",
            PageHead(
                visit.titles.words(for: name, title: titles[recordID]),
                crumb: "History in zone \(visit.zoneName(zoneID))", history.map { [Inline($0.kept)] } ?? [],
                actions: [.button("The record", visit.place.link(toRecord: name, in: zoneID))]), [versions],
            foot: PageFooter(
                previous: history?.whole.map { Frame.Link(text: "« Latest", href: $0.href) },
                next: history?.earlier.map { Frame.Link(text: "Earlier ›", href: $0) }))
    }
}

// MARK: - Changes

/// The history of a record, change by change.
struct RecordHistory: Component {
    static let template = "versions"

    struct Row: ViewModel {
        /// `created`, `modified` or `deleted`.
        let act: String
        let when: ValueView
        let who: String
        let tag: String
        let isNow: Bool
        let request: Frame.Link?
        /// The id of a change that was made in the console.
        let change: String?
        let differences: [FieldDifference]
        /// Differences that the user expands.
        let more: Differences?
        let moreText: String
        /// A remark if there are no differences to show.
        let remark: String?
        let position: Int64
        let isShare: Bool
        /// The link that asks to restore this version; `nil` for deletions and the current version.
        let restore: String?
    }

    /// The maximum number of fields of a change that are initially visible.
    private static let fieldLimit = 6

    let rows: [Row]
    /// The number of rows, with a plus if there are more changes.
    let count: String
    /// The retention of versions, in a sentence.
    let kept: String
    /// A remark below the last row about earlier changes that are not kept.
    let beginning: String?
    /// The link to the whole history; `nil` if this is all of it.
    let whole: Frame.Link?
    let earlier: String?

    /// - Parameters:
    ///   - before: only changes before this position.
    ///   - limit: the maximum number of changes.
    /// - Returns: `nil` if the engine keeps no journal or has no entries for the record.
    static func load(_ name: Name, in zoneID: ZoneID, before: Int64? = nil, limit: Int, _ visit: Visit) async throws
        -> RecordHistory?
    {
        guard visit.database.can(.keepJournal) else { return nil }
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        // Reads one extra entry, to determine the differences of the last one.
        let request = RecordJournalRequest(recordID, before: before, limit: PageLimit(records: limit + 1))
        let page = try await visit.measure { try await visit.database.require(.keepJournal).journal(request) }
        if page.entries.isEmpty { return nil }
        let presenter = try await visit.presenter(of: page.entries, in: zoneID)
        // A page of the journal also has a byte limit. If it ends early, its last entry serves only to determine the
        // differences of the previous one.
        let count = page.before == nil ? page.entries.count : page.entries.count - 1
        let shown = page.entries.prefix(max(1, min(limit, count)))
        let place = visit.inZone(zoneID).place
        let isWhole = shown.count == page.entries.count && page.before == nil
        let versions = try page.entries.map { try FieldDifference.Version($0.fields, parent: $0.parent) }
        let rows = shown.enumerated().map { index, entry in
            let previous = index + 1 < page.entries.count ? page.entries[index + 1] : nil
            return Row(
                entry, versions[index], after: previous.map { ($0, versions[index + 1]) }, isCut: page.before != nil,
                presenter, name, place,
                visit.people)
        }
        let link = { (before: Int64?) in
            place.link("record/history", [("name", name.string)] + (before.map { [("before", String($0))] } ?? []))
        }
        return RecordHistory(
            rows: rows, count: Digits.grouped(rows.count) + (isWhole ? "" : "+"), kept: page.limits.sentence,
            beginning: isWhole && shown.last?.kind != .created ? Self.beginning(page.limits) : nil,
            whole: isWhole && before == nil ? nil : Frame.Link(text: "Full history", href: link(nil)),
            earlier: isWhole ? nil : shown.last.map { link($0.position) })
    }

    private static func beginning(_ limits: JournalLimits) -> String {
        limits.isOff ? "This server keeps no earlier versions." : "Earlier versions are not kept."
    }
}

extension RecordHistory.Row {
    /// - Parameter isCut: true if more entries exist than were read, so that a missing `previous` does not mean a first
    ///   version.
    fileprivate init(
        _ entry: RecordJournalEntry, _ version: FieldDifference.Version,
        after previous: (entry: RecordJournalEntry, version: FieldDifference.Version)?,
        isCut: Bool, _ presenter: ValuePresenter, _ name: Name, _ place: Place, _ people: People
    ) {
        act = entry.kind.rawValue
        when = ValueView(.time(entry.signature.timestamp))
        who = people.name(of: entry.signature.userRecordName) + entry.signature.onDevice
        tag = entry.recordChangeTag
        isNow = entry.replaced == nil
        // The log has no requests of the console.
        change = entry.requestID.flatMap { UndoableChange.isID($0) ? $0 : nil }
        request =
            change == nil
            ? entry.requestID.map {
                Frame.Link(text: "request", href: place.link(Tab.requests.rawValue, [("id", $0)]))
            } : nil
        let all: [FieldDifference]
        switch (entry.kind, previous) {
        case (.deleted, _): (all, remark) = ([], nil)
        case (.created, _):
            all = FieldDifference.all(from: .nothing, to: version, presenter)
            remark = all.isEmpty ? "without fields" : nil
        case (.modified, nil):
            (all, remark) = (
                [], isCut ? "The version before it is under Earlier." : "The version before it is not kept."
            )
        case (.modified, let previous?):
            all = FieldDifference.all(from: previous.version, to: version, presenter)
            remark = all.isEmpty ? "saved again with the same values" : nil
        }
        let limit = all.count <= RecordHistory.fieldLimit + 1 ? all.count : RecordHistory.fieldLimit
        differences = Array(all.prefix(limit))
        more = all.count > limit ? Differences(differences: Array(all.dropFirst(limit))) : nil
        moreText = "\(Digits.count(all.count - limit, "more field"))"
        position = entry.position
        isShare = entry.recordType == Share.recordType
        restore =
            isNow || entry.kind == .deleted
            ? nil : place.link("record/restore", [("name", name.string), ("position", String(entry.position))])
    }
}

extension JournalLimits {
    /// The retention policy, in a sentence.
    var sentence: String {
        if isOff {
            return
                "This server keeps no earlier versions. To keep them, start it with skylight serve --journal-days 30."
        }
        return
            "Earlier versions are kept for \(Digits.count(days, "day")), up to \(Digits.grouped(versions)) per record."
    }
}

extension Visit {
    /// The presenter for the values of a record's versions.
    func presenter(of entries: [RecordJournalEntry], in zoneID: ZoneID) async throws -> ValuePresenter {
        var presenter = ValuePresenter(place: place, zoneID: zoneID, links: nil)
        if assets.keepsFiles(of: place.address.container), entries.contains(where: \.fields.mayHoldAssets) {
            presenter = ValuePresenter(
                place: place, zoneID: zoneID,
                links: try await measure {
                    try await assets.links(place.address.container, place.address.environment, origin: "")
                })
        }
        return presenter
    }
}

/// The fields that differ between two versions of a record.
struct Differences: Component {
    static let template = "differences"

    let differences: [FieldDifference]
}

/// A field that differs between two versions of a record.
struct FieldDifference: ViewModel {
    let name: String
    /// `added`, `changed` or `removed`.
    let kind: String
    let before: ValueView
    let after: ValueView

    /// The parts of a record's version that the comparison uses.
    struct Version {
        let fields: [Name: Field]
        let parent: Name?

        static let nothing = Version(fields: [:], parent: nil)

        init(fields: [Name: Field], parent: Name?) {
            self.fields = fields
            self.parent = parent
        }

        /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
        init(_ text: FieldsText, parent: Name?) throws {
            fields = Dictionary(try text.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            self.parent = parent
        }
    }

    /// The differing fields, sorted by name. The parent of the record comes last.
    static func all(from before: Version, to after: Version, _ presenter: ValuePresenter) -> [FieldDifference] {
        var differences = Set(before.fields.keys).union(after.fields.keys).sorted().compactMap {
            name -> FieldDifference? in
            let (old, new) = (before.fields[name], after.fields[name])
            if old.map(bytes) == new.map(bytes) { return nil }
            return FieldDifference(
                name: name.string, kind: kind(hadValue: old != nil, hasValue: new != nil),
                before: presenter.view(old?.value, of: name),
                after: presenter.view(new?.value, of: name))
        }
        if before.parent != after.parent {
            func view(_ parent: Name?) -> ValueView {
                parent.map { presenter.view(.reference(Reference(recordName: $0)), of: "parent") } ?? .missing
            }
            differences.append(
                FieldDifference(
                    name: "parent", kind: kind(hadValue: before.parent != nil, hasValue: after.parent != nil),
                    before: view(before.parent),
                    after: view(after.parent)))
        }
        return differences
    }

    private static func kind(hadValue: Bool, hasValue: Bool) -> String {
        hadValue ? hasValue ? "changed" : "removed" : "added"
    }

    /// The stored bytes of the field. Strings that look the same can differ in their bytes.
    private static func bytes(_ field: Field) -> [UInt8] { FieldsText([field]).bytes }
}

// MARK: - Restoring

/// The confirmation page for a restore, with the changes that it makes.
package enum RestoreView {
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let (name, zoneID) = try RecordRestoring.target(visit)
        let position = try RecordRestoring.position(visit)
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let latest = try await visit.measure {
            try await visit.database.require(.keepJournal).journal(
                RecordJournalRequest(recordID, limit: PageLimit(records: 1)))
        }
        let wanted = try await visit.measure {
            try await visit.database.require(.keepJournal).journal(
                RecordJournalRequest(recordID, before: position.addingSaturated(1), limit: PageLimit(records: 1)))
        }
        guard let now = latest.entries.first, let entry = wanted.entries.first, entry.position == position else {
            throw RecordReversion(recordID, to: position, recordChangeTag: nil).notKept(latest.limits)
        }
        if entry.kind == .deleted {
            throw RecordError(.badRequest, "That change deleted the record; restore an earlier version")
        }
        let isDeleted = now.kind == .deleted
        let history = visit.place.link("record/history", [("name", name.string)])
        var fields = [
            Frame.Hidden(name: "name", value: name.string), Frame.Hidden(name: "position", value: String(position)),
        ]
        if !isDeleted { fields.append(Frame.Hidden(name: "tag", value: now.recordChangeTag)) }
        fields.append(Frame.Hidden(name: "from", value: history))
        let version = Dictionary(
            try entry.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let differences = FieldDifference.all(
            from: try FieldDifference.Version(now.fields, parent: now.parent),
            to: try FieldDifference.Version(entry.fields, parent: entry.parent),
            try await visit.presenter(of: [now, entry], in: zoneID))
        let who = visit.people.name(of: entry.signature.userRecordName)
        let title = visit.titles.words(for: name, title: visit.titles.title(of: entry.recordType, version))
        return ComponentPage(
            .fetch,
            PageHead(
                "Restore \(title)?", crumb: "\(entry.recordType.string) in zone \(visit.zoneName(zoneID))",
                [
                    "Restores the version of \(.time(entry.signature.timestamp)) by \(who). This is a new save by you: clients get it like any other save, and the history keeps the version it replaces.\(isDeleted ? " The record is deleted now; restoring creates it again." : "")"
                ]),
            [
                Section(
                    "changes", "Changes", style: "past",
                    [
                        !differences.isEmpty
                            ? Differences(differences: differences)
                            : Paragraph(
                                isDeleted
                                    ? "It had no fields."
                                    : "The record has the same values now; restoring it only gives it a new change tag."
                            ),
                        Form(
                            .line, visit.place.link("record/restore"), hidden: fields, [],
                            button: "Restore this version", buttonStyle: "go", links: [.button("Cancel", history)]),
                    ])
            ])
    }
}

/// Restores earlier versions of records.
package enum RecordRestoring {
    /// Saves the earlier version, provided that the record has not changed since the confirmation page.
    package static func restore(_ visit: Visit) async throws -> String {
        let (name, zoneID) = try target(visit)
        let reversion = RecordReversion(
            RecordID(recordName: name, zoneID: zoneID), to: try position(visit),
            recordChangeTag: visit.fields.text("tag"))
        do {
            _ = try await visit.measure { try await visit.database.require(.keepJournal).revert(reversion) }
        } catch let error as RecordError where error.code == .conflict {
            throw RecordError(
                .conflict,
                "The record ‘\(name)’ changed after you opened this page. Nothing was restored. Look at its history again"
            )
        }
        return visit.place.inZone(zoneID).link(
            "record", [("name", name.string)] + (await visit.notice(.recordRestored)))
    }

    /// - Throws: `RecordError` BAD_REQUEST if the address lacks the record name or the zone.
    static func target(_ visit: Visit) throws -> (Name, ZoneID) {
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID ?? visit.usualZoneID else {
            throw RecordError(.badRequest, "The address needs the record's name and its zone")
        }
        return (Name(name), zoneID)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the address names no change.
    static func position(_ visit: Visit) throws -> Int64 {
        guard let position = visit.fields.text("position").flatMap({ Int64($0) }) else {
            throw RecordError(.badRequest, "The address needs the position of the change to restore")
        }
        return position
    }
}
