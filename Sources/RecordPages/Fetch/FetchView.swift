internal import AssetStore
package import Console
internal import HTTPServing
internal import RecordStore
internal import Records

/// The tab Fetch: records of any type by name, from one zone or from all.
package struct FetchView: Page {
    package static let template = "fetch"
    package static let tab = Tab.fetch

    /// The maximum number of records per request, as in the web services.
    static let nameLimit = RequestObject.pageLimit
    /// The limit of fields that a page reads, in bytes. Each record beyond it gets an error.
    static let bytesLimit = 32 << 20
    /// The maximum number of names that can be removed with one click each.
    private static let chipLimit = 8
    /// The maximum number of fields on a line.
    static let shownFields = 5

    struct Row: ViewModel {
        let recordName: String
        /// `nil` if the record was not found.
        let found: Found?
        let complaint: PageError?
        /// Traces of a missing record.
        let whereabouts: [RecordTrace]
    }

    struct Found: ViewModel {
        let href: String
        let title: String?
        /// What is another now, in an earlier state.
        let mark: RecordMark?
        /// Identifies the record in actions on ticked records; `nil` in an earlier state.
        let pick: String?
        /// The zone, if records of all zones are shown.
        let zone: String?
        let type: String
        let typeHref: String
        let fields: [NamedValue]
        /// The number of fields that do not fit on the line.
        let more: String?
        let modified: ValueView
        let by: String
        let tag: String
    }

    struct NamedValue: ViewModel {
        let name: String
        let value: ValueView
    }

    /// Example names, if the request has none.
    struct Example: ViewModel {
        let zone: String
        let names: [RecordLink]
        let all: String
    }

    struct Footer: ViewModel {
        let found: String
        let missing: String?
        /// The number of files and their total size.
        let files: String?
        let exports: ResultFiles
        /// The link to the same records in the other layout; `nil` if there is only one layout.
        let otherShape: Frame.Link?
    }

    package let title: String
    let heading = Self.tab.title
    /// What is asked; `nil` if there is no zone to fetch from.
    let folded: FoldedForm?
    let action: String
    let hidden: [Frame.Hidden]
    let zones: [Choice]
    let names: String
    let rowsOfText: Int
    /// The address that suggests records; `nil` if there are no suggestions.
    let suggestions: String?
    let showsZones: Bool
    let keys: DesiredKeysMenu
    let withAssets: Bool
    let complaint: PageError?
    /// A note about zones that were not searched.
    let remark: String?
    let rows: [Row]
    /// Replaces the rows if the page also fetches assets.
    let assets: AssetTable?
    /// Replaces the rows if every field gets a column.
    let table: FetchTable?
    /// `table` if the address requests it.
    let shape: String?
    /// The actions for ticked records.
    let picking: PickingBar?
    let example: Example?
    let noZones: Bool
    /// The fetch as client code; `nil` if nothing is fetched.
    let code: CodePanel?
    let footer: Footer?
}

extension FetchView {
    /// - Throws: `RecordError` TRY_AGAIN_LATER when there is no room for the records.
    package static func load(_ visit: Visit) async throws -> FetchView {
        try await RequestMemory.makeAnswer { try await page(visit) }
    }

    private static func page(_ visit: Visit) async throws -> FetchView {
        let asked = FetchForm(visit)
        let (names, zoneID, keys, withAssets, isTable) = (
            asked.names, asked.zoneID, asked.keys, asked.withAssets, asked.isTable
        )
        var results: [Result<StoredRecord, RecordError>] = []
        var unsearched = 0
        var rows: [Row] = []
        var assets: AssetTable?
        var table: FetchTable?
        var complaint: PageError?
        if names.count > nameLimit {
            complaint = PageError(
                RecordError(
                    .badRequest,
                    "A request may have \(nameLimit) record names, and this one has \(Digits.grouped(names.count))"),
                advice: ["Fetch them in several requests."])
        } else if !names.isEmpty {
            do {
                let recordIDs: [RecordID]
                (recordIDs, unsearched) = try await asked.recordIDs(visit)
                results = try await visit.measure {
                    try await visit.database.fetch(
                        recordIDs, desiredKeys: keys.set, bytesLimit: bytesLimit)
                }
                try RequestMemory.prepareAnswer(with: results.lazy.compactMap { try? $0.get() })
                let links = try await visit.links(toAssetsOf: results.compactMap { try? $0.get() })
                let missing = zip(recordIDs, results).compactMap { $1.isMissing ? $0.recordName : nil }
                let titles = try await titles(in: results.compactMap { try? $0.get() }, visit)
                let since = try await SinceThen(results.compactMap { try? $0.get() }, keys: keys.set, visit)
                let answer = FetchAnswer(
                    items: Array(zip(recordIDs, results)), showsZones: zoneID == nil,
                    whereabouts: try await RecordTrace.all(of: missing, notIn: zoneID, visit),
                    links: links, titles: titles, since: since)
                if withAssets {
                    assets = try AssetTable(answer, visit: visit)
                } else if isTable {
                    table = try FetchTable(answer, visit: visit)
                } else {
                    rows = try answer.items.map { try Row($0, $1, answer, visit) }
                }
            } catch let error as RecordError {
                complaint = PageError(error)
            }
        }
        let there = zoneID.map { visit.inZone($0) } ?? visit
        let example = names.isEmpty ? try await Example(in: zoneID ?? visit.usualZoneID, visit) : nil
        let noZones = zoneID == nil && visit.zones.isEmpty
        let foundCount = results.count { (try? $0.get()) != nil }
        let parameters = [("names", names.joined(separator: "\n"))] + keys.parameters
        let shape = isTable ? [("as", "table")] : []
        let otherShape = Frame.Link(
            text: isTable ? "As a list" : "As a table",
            href: there.place.link("fetch", parameters + (isTable ? [] : [("as", "table")])))
        return FetchView(
            title: zoneID.map { "Fetch · \(visit.zoneName($0))" } ?? "Fetch",
            folded: noZones
                ? nil : folded(asked, results, visit),
            action: "\(visit.place.path)/fetch",
            hidden: (visit.place.userParameters + visit.place.pointParameters).map {
                Frame.Hidden(name: $0.name, value: $0.value)
            },
            zones: there.zoneChoices(
                allowsAll: zoneID == nil || visit.zones.count > 1 || visit.place.address.scope == .shared),
            names: names.joined(separator: "\n"), rowsOfText: min(max(names.count + 1, 4), 12),
            suggestions: visit.database.can(.listRecords) ? visit.place.link("record/names") : nil,
            showsZones: zoneID == nil, keys: DesiredKeysMenu(keys, visit), withAssets: withAssets,
            complaint: complaint,
            remark: unsearched == 0
                ? nil
                : "\(Digits.count(unsearched, "zone")) of this database \(unsearched == 1 ? "is" : "are") not searched. Choose a zone to search it.",
            rows: rows, assets: assets, table: table,
            shape: isTable ? "table" : nil,
            picking: foundCount == 0 || withAssets || visit.earlier != nil
                ? nil
                : PickingBar(
                    back: there.place.link("fetch", parameters + shape), asks: await visit.asksBeforeDeletions(),
                    visit: there),
            example: example, noZones: noZones,
            code: results.isEmpty
                ? nil
                : (zoneID ?? onlyZone(of: results)).map {
                    CodePanel(fetching: names.map { Name($0) }, keys: keys.names, zoneID: $0, visit: visit)
                },
            footer: results.isEmpty
                ? nil
                : Footer(
                    found: Digits.count(foundCount, "record"),
                    missing: missing(found: foundCount, of: results),
                    files: assets.flatMap {
                        $0.fileCount == 0 ? nil : "\(Digits.count($0.fileCount, "asset")), \($0.size)"
                    },
                    exports: ResultFiles(to: "fetch", parameters, visit: there),
                    otherShape: withAssets || foundCount == 0 && !isTable ? nil : otherShape))
    }

    private static func titles(in records: [StoredRecord], _ visit: Visit) async throws -> ReferencedTitles {
        let targets = try records.flatMap { record -> [RecordID] in
            let fields =
                visit.schema?.types[record.recordType]?.fields.filter { $0.value.type.valueType == .reference }.map(
                    \.key) ?? []
            if fields.isEmpty { return [] }
            return try record.fields.values(of: Set(fields)).values.flatMap {
                $0.targets(from: record.recordID.zoneID, limit: ValuePresenter.shortCount)
            }
        }
        return try await ReferencedTitles(targets, known: records, visit)
    }

    private static func folded(
        _ asked: FetchForm, _ results: [Result<StoredRecord, RecordError>], _ visit: Visit
    ) -> FoldedForm {
        let asIs = asked.link(visit)
        let edit = "\(asIs)&\(FoldedForm.editing.name)=\(FoldedForm.editing.value)"
        func chip(_ lead: String, _ value: String, without change: (inout FetchForm) -> Void) -> Chip {
            var changed = asked
            change(&changed)
            return Chip(lead, value, edit: edit, removal: changed.link(visit))
        }
        let names = asked.names
        // The address of a page without one of very many names would be as long as all of them.
        var chips =
            names.count > chipLimit
            ? [chip("", Digits.count(names.count, "name")) { $0.names = [] }]
            : names.enumerated().map { index, name in chip("", name) { $0.names.remove(at: index) } }
        if asked.keys.names != nil { chips.append(chip("returning", asked.keys.text) { $0.keys.clear() }) }
        if asked.withAssets { chips.append(chip("with", "assets") { $0.withAssets = false }) }
        // As in the footer: records, of which a name may have several in all zones.
        let found = results.count { (try? $0.get()) != nil }
        return FoldedForm(
            outcome: results.isEmpty ? "not fetched" : FetchView.outcome(found: found, of: results),
            facts: ["in \(asked.zoneID.map(visit.zoneName) ?? "all zones")"], chips: chips,
            isAnswered: !results.isEmpty, visit: visit)
    }

    /// `5 records found, 1 not found`.
    private static func outcome(found: Int, of results: [Result<StoredRecord, RecordError>]) -> String {
        "\(Digits.count(found, "record")) found" + (missing(found: found, of: results).map { ", \($0)" } ?? "")
    }

    /// `1 not found`, or `not fetched` of those beyond the limit; `nil` for none.
    private static func missing(found: Int, of results: [Result<StoredRecord, RecordError>]) -> String? {
        found == results.count
            ? nil
            : "\(Digits.grouped(results.count - found)) \(results.contains(.failure(.tooManyBytes)) ? "not fetched" : "not found")"
    }

    /// The zone of the records, if they are all in one. Code asks for one zone.
    private static func onlyZone(of results: [Result<StoredRecord, RecordError>]) -> ZoneID? {
        let zoneIDs = Set(results.compactMap { try? $0.get().recordID.zoneID })
        return zoneIDs.count == 1 ? zoneIDs.first : nil
    }
}

/// The answer to a fetch: for each record the result, and traces of those that are missing.
struct FetchAnswer {
    let items: [(RecordID, Result<StoredRecord, RecordError>)]
    /// True if the records may be of several zones.
    let showsZones: Bool
    let whereabouts: [Name: [RecordTrace]]
    let links: AssetLinks?
    let titles: ReferencedTitles
    /// How the records of an earlier state differ now.
    let since: SinceThen

    var records: [StoredRecord] { items.compactMap { try? $1.get() } }
}

extension Result<StoredRecord, RecordError> {
    /// True if no record of the name is in the zone. Other failures say nothing about it.
    var isMissing: Bool {
        if case .failure(let error) = self { [.notFound, .zoneNotFound].contains(error.code) } else { false }
    }
}

extension FetchView.Row {
    fileprivate init(
        _ recordID: RecordID, _ result: Result<StoredRecord, RecordError>, _ answer: FetchAnswer, _ visit: Visit
    ) throws {
        recordName = recordID.recordName.string
        switch result {
        case .failure(let error):
            (found, complaint, whereabouts) = (nil, PageError(error), answer.whereabouts[recordID.recordName] ?? [])
        case .success(let record):
            (found, complaint, whereabouts) = (try FetchView.Found(record, answer, visit: visit), nil, [])
        }
    }
}

extension FetchView.Found {
    fileprivate init(_ record: StoredRecord, _ answer: FetchAnswer, visit: Visit) throws {
        let zoneID = record.recordID.zoneID
        let presenter = ValuePresenter(place: visit.place, zoneID: zoneID, links: answer.links, titles: answer.titles)
        zone =
            answer.showsZones
            ? [visit.zoneName(zoneID), visit.ownerName(zoneID)].compactMap(\.self).joined(separator: " ") : nil
        let type = visit.schema?.types[record.recordType]
        let fields = try record.fields.decoded().filter { !$0.value.elements.isEmpty }.sorted { left, right in
            guard let left = type?.queryField(named: left.name), let right = type?.queryField(named: right.name) else {
                return left.name < right.name
            }
            return QueryField.precedesInTables(left, right)
        }
        href = visit.place.link(toRecord: record.recordID.recordName, in: zoneID)
        title = answer.titles[record.recordID]
        mark = answer.since[record.recordID]
        pick = visit.pick(record)
        self.type = record.recordType.string
        typeHref = visit.place.link("type", [("type", record.recordType.string)])
        self.fields = fields.prefix(FetchView.shownFields).map {
            FetchView.NamedValue(name: $0.name.string, value: presenter.view($0.value, of: $0.name))
        }
        more = fields.count > FetchView.shownFields ? "\(fields.count - FetchView.shownFields) more" : nil
        modified = ValueView(.time(record.modified.timestamp))
        by = visit.people.name(of: record.modified.userRecordName)
        tag = record.recordChangeTag
    }
}

extension FetchView.Example {
    /// A few records of the zone, of different types if possible. The feed lists records without an index.
    fileprivate init?(in zoneID: ZoneID?, _ visit: Visit) async throws {
        guard let zoneID, visit.hasFeed(zoneID) else { return nil }
        let request = ZoneChangesRequest(zoneID, limit: PageLimit(records: 30), desiredKeys: visit.titles.fields)
        // Examples are optional, so errors are ignored. A real request reports them.
        guard let page = try? await visit.measure({ try await visit.database.zoneChanges(request) }),
            !page.changes.isEmpty
        else { return nil }
        let records = page.changes.compactMap(\.record)
        var types: Set<Name> = []
        let firsts = records.filter { types.insert($0.recordType).inserted }
        let others = records.filter { record in !firsts.contains { $0.recordID == record.recordID } }
        let chosen = (firsts + others).prefix(4)
        // Another zone may have records of the same names.
        let place = visit.place.inZone(zoneID)
        zone = visit.zoneName(zoneID)
        names = chosen.map { record in
            let name = record.recordID.recordName.string
            return RecordLink(
                href: place.link("fetch", [("names", name)]), recordName: name,
                title: try? visit.titles.title(of: record))
        }
        all = place.link("fetch", [("names", chosen.map(\.recordID.recordName.string).joined(separator: "\n"))])
    }
}

// MARK: - Form

/// The input of the page's form: names, and the records that they stand for, of the chosen zone or of all zones.
struct FetchForm {
    /// The names in the input, without empty lines.
    var names: [String]
    /// The chosen zone, or the only one; `nil` for all zones.
    let zoneID: ZoneID?
    var keys: DesiredKeys
    var withAssets: Bool
    /// True if every field gets a column.
    let isTable: Bool

    init(_ visit: Visit) {
        let fields = visit.fields
        names = ((fields["names"] ?? "").formLines + [fields["name"] ?? ""]).map { $0.trimmingSpaces }.filter {
            !$0.isEmpty
        }
        zoneID = visit.place.zoneID ?? (visit.zones.count < 2 && visit.place.address.scope != .shared ? .default : nil)
        keys = DesiredKeys(fields)
        withAssets = fields["assets"] == "with"
        isTable = fields["as"] == "table"
    }

    func link(_ visit: Visit) -> String {
        (zoneID.map { visit.place.inZone($0) } ?? visit.place).link(
            "fetch",
            [("names", names.joined(separator: "\n"))] + keys.parameters + (withAssets ? [("assets", "with")] : [])
                + (isTable ? [("as", "table")] : []))
    }

    /// One record for each name in one zone. In all zones, a name stands for the record of each zone that has it, and
    /// else for one that does not exist.
    /// - Returns: the records, and the number of zones that were not searched.
    /// - Throws: `RecordError` BAD_REQUEST for more names than a request may have.
    func recordIDs(_ visit: Visit) async throws -> (recordIDs: [RecordID], unsearched: Int) {
        guard names.count <= FetchView.nameLimit else {
            throw RecordError(
                .badRequest,
                "A request may have \(FetchView.nameLimit) record names, and this one has \(Digits.grouped(names.count)); send several requests"
            )
        }
        if let zoneID { return (names.map { RecordID(recordName: Name($0), zoneID: zoneID) }, 0) }
        guard let other = visit.zones.first?.zoneID, !names.isEmpty else { return ([], 0) }
        let search = try await ZoneSearch(for: names.map { Name($0) }, in: visit.zones.map(\.zoneID), of: visit)
        let recordIDs = names.flatMap { name in
            search.records[Name(name)]?.map(\.recordID) ?? [RecordID(recordName: Name(name), zoneID: other)]
        }
        return (recordIDs, search.unsearched)
    }
}

// MARK: - Missing records

/// A trace of a record that the chosen zone does not have: `in Book Club`, or `deleted 3 hours ago by Ada`.
struct RecordTrace: ViewModel {
    let text: String
    let href: String
    /// The page that restores the last version of a deleted record; `nil` if it can't be restored.
    let restore: String?

    /// The maximum number of names to trace, and of zones whose journals are read for each.
    private static let nameLimit = 20
    private static let journalLimit = 20

    /// - Parameters:
    ///   - missing: the names without a record.
    ///   - asked: the zone that was asked; `nil` for all.
    /// - Returns: the traces by name. iCloud is not asked for them: each zone takes a request, and it keeps no journal.
    static func all(of missing: [Name], notIn asked: ZoneID?, _ visit: Visit) async throws -> [Name: [RecordTrace]] {
        guard visit.connection == nil, !missing.isEmpty else { return [:] }
        if visit.earlier != nil { return try await added(among: missing, asked, visit) }
        let missing = Array(missing.prefix(nameLimit))
        let others = asked.map { asked in visit.zones.map(\.zoneID).filter { !visit.place.isSame($0, asked) } } ?? []
        let found = others.isEmpty ? [:] : try await ZoneSearch(for: missing, in: others, of: visit).records
        var traces = found.mapValues { records in
            records.map { record in
                RecordTrace(
                    text: "in \(visit.zoneName(record.recordID.zoneID))",
                    href: visit.place.link(toRecord: record.recordID.recordName, in: record.recordID.zoneID),
                    restore: nil)
            }
        }
        guard visit.database.can(.keepJournal) else { return traces }
        let zoneIDs = asked.map { [$0] + others } ?? visit.zones.map(\.zoneID)
        for name in missing where traces[name] == nil {
            for zoneID in zoneIDs.prefix(journalLimit) {
                guard
                    let deleted = try await RecordTrace(
                        deleted: RecordID(recordName: name, zoneID: zoneID),
                        showsZone: asked == nil || others.contains(zoneID), visit)
                else { continue }
                traces[name, default: []].append(deleted)
            }
        }
        return traces
    }

    /// Records that an earlier state did not have yet, and that are there now.
    private static func added(among missing: [Name], _ asked: ZoneID?, _ visit: Visit) async throws -> [Name:
        [RecordTrace]]
    {
        guard let zoneID = asked else { return [:] }
        let recordIDs = missing.prefix(nameLimit).map { RecordID(recordName: $0, zoneID: zoneID) }
        let found = try await visit.measure { try await visit.present.fetch(recordIDs, desiredKeys: []) }
        let now = visit.place.with { $0.asOf = nil }
        return Dictionary(
            found.compactMap { try? $0.get().recordID.recordName }.map { name in
                (name, [RecordTrace(text: "there now", href: now.link(toRecord: name, in: zoneID), restore: nil)])
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension RecordTrace {
    /// - Returns: `nil` if no deletion of the record is known.
    fileprivate init?(deleted recordID: RecordID, showsZone: Bool, _ visit: Visit) async throws {
        let entries: [RecordJournalEntry]
        do {
            entries = try await visit.measure {
                try await visit.database.require(.keepJournal).journal(
                    RecordJournalRequest(recordID, limit: PageLimit(records: 2)))
            }.entries
        } catch let error as RecordError where error.code == .zoneNotFound {
            return nil
        }
        guard let deletion = entries.first, deletion.kind == .deleted else { return nil }
        let zone = showsZone ? " in \(visit.zoneName(recordID.zoneID))" : ""
        text =
            "deleted\(zone) \(deletion.signature.timestamp.agoText(at: .now())) by \(visit.people.name(of: deletion.signature.userRecordName))"
        href = visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID)
        let last = entries.dropFirst().first { $0.kind != .deleted && $0.recordType != Share.recordType }
        restore =
            try await visit.canSave(in: recordID.zoneID)
            ? last.map {
                visit.place.inZone(recordID.zoneID).link(
                    "record/restore", [("name", recordID.recordName.string), ("position", String($0.position))])
            }
            : nil
    }
}
