internal import Accounts
internal import Console
internal import JSON
internal import Mirroring
internal import RecordStore
internal import Records

/// The page Not sent of a mirror: the changes that iCloud does not have, in the order of sending, and those in conflict.
struct UnsentView: Page {
    static let template = "unsent"
    static let tab = Tab.unsent

    struct Row: ViewModel {
        let act: String
        let database: String
        let zone: String
        let recordName: String
        let href: String
        let fields: String
        /// The change tag that the change was made on.
        let base: String?
    }

    struct ConflictRow: ViewModel {
        let database: String
        let zone: String
        let recordName: String
        let href: String
        let mine: String
        let theirs: String
        /// The page with the three versions; `nil` if one side deleted the record.
        let compare: String?
        /// The address of the form that keeps one version.
        let action: String
        /// The change tags of both versions, empty for a deletion.
        let mineTag: String
        let theirsTag: String
    }

    struct RefusalRow: ViewModel {
        let recordName: String
        let reason: String
    }

    let title = Self.tab.title
    /// The container in iCloud, with its environment.
    let origin: String
    let isReadOnly: Bool
    let notice: String?
    let count: String
    let hasRows: Bool
    let rows: [Row]
    let moreRows: String?
    let conflicts: [ConflictRow]
    let refusals: [RefusalRow]
    let send: String
    let milliseconds: String

    /// The number of rows per table.
    private static let limit = 200

    /// Asks nobody: what would be sent is known here.
    static func load(_ visit: Visit) async throws -> UnsentView {
        let connection = try visit.mirroredConnection()
        let mirror = try await visit.mirror(of: connection)
        let planned = try await visit.measure { try await mirror.push(isDryRun: true) }
        var conflicts: [ConflictRow] = []
        for scope in DatabaseScope.allCases where connection.reach.contains(scope) && !planned.conflicts.isEmpty {
            let place = visit.place.with { ($0.address.scope, $0.zone) = (scope, .unspecified) }
            let database = try await visit.engine.database(place.address, as: Caller(userRecordName: visit.mirrorUser(of: connection)))
            try await database.eachUnsentEdit { edit in
                if let row = ConflictRow(edit, place) { conflicts.append(row) }
                return conflicts.count < limit
            }
        }
        let left = planned.items.count - min(planned.items.count, limit)
        return UnsentView(
            origin: connection.place, isReadOnly: connection.isReadOnly, notice: Notice.text(visit.fields["notice"]),
            count: Digits.count(planned.items.count, "change"), hasRows: !planned.items.isEmpty,
            rows: planned.items.prefix(limit).map { Row($0, visit.place) }, moreRows: left > 0 ? "… and \(Digits.grouped(left)) more" : nil,
            conflicts: conflicts,
            refusals: planned.refused.sorted { $0.key.recordName < $1.key.recordName }.prefix(limit).map {
                RefusalRow(recordName: $0.key.recordName.string, reason: $0.value)
            },
            send: visit.place.link("unsent/send"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension UnsentView.Row {
    fileprivate init(_ item: PushReport.Item, _ place: Place) {
        let there = place.with { ($0.address.scope, $0.zone) = (item.scope, .one(item.recordID.zoneID)) }
        act = item.act.rawValue
        database = item.scope.rawValue
        zone = item.recordID.zoneID.zoneName.string
        recordName = item.recordID.recordName.string
        href = there.link(toRecord: item.recordID.recordName, in: item.recordID.zoneID)
        fields = item.fields.sorted().map(\.string).joined(separator: ", ")
        base = item.base
    }
}

extension UnsentView.ConflictRow {
    /// - Returns: `nil` for an edit without a conflict.
    fileprivate init?(_ edit: UnsentEdit, _ place: Place) {
        guard let theirs = edit.theirs else { return nil }
        let there = place.inZone(edit.recordID.zoneID)
        database = place.address.scope.rawValue
        zone = edit.recordID.zoneID.zoneName.string
        recordName = edit.recordID.recordName.string
        href = there.link(toRecord: edit.recordID.recordName, in: edit.recordID.zoneID)
        mine = edit.mine == nil ? "deleted here" : edit.base == nil ? "created here" : "changed here"
        self.theirs = theirs.record == nil ? "deleted in iCloud" : edit.base == nil ? "created in iCloud" : "changed in iCloud"
        compare = edit.mine == nil || theirs.record == nil ? nil : there.link("unsent/conflict", [("name", recordName)])
        action = there.link("unsent/settle")
        mineTag = edit.mine?.recordChangeTag ?? ""
        theirsTag = theirs.record?.recordChangeTag ?? ""
    }
}
