internal import AssetStore
internal import Console
internal import RecordStore
internal import Records

/// Records of several types in one table: one column per field in use, with the rows grouped by type.
struct FetchTable: ViewModel {
    struct Group: ViewModel {
        /// `Message, 3 records`; `Not found` for names without a record, `Not fetched` for records beyond the size
        /// limit.
        let title: String
        let typeHref: String?
        /// The address of the query that filters by a value of the records, without that value; `nil` for names without
        /// a record.
        let alike: String?
        let rows: [Row]
        let missing: [Missing]
    }

    typealias Row = RecordRow<Cell>

    /// The content of a column in a row.
    enum Cell: ViewModel {
        case value(TableValue)
        /// The record's type has no such field.
        case none

        func child(named name: String) -> Any? {
            switch (name, self) {
            case ("value", .value(let value)): value
            case ("isNumber", .value(let value)), ("heading", .value(let value)): value.child(named: name)
            case ("value", .none), ("isNumber", .none), ("heading", .none): Absent()
            default: nil
            }
        }
    }

    struct Missing: ViewModel {
        let recordName: String
        let complaint: PageError
        let whereabouts: [RecordTrace]
    }

    let columns: [TableColumn]
    let groups: [Group]
    /// The number of columns, for cells that span a whole row.
    let width: String
    let caption: String

    init(_ answer: FetchAnswer, visit: Visit) throws {
        let records = answer.records
        let fields = try records.map { record in
            Dictionary(try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        var order: [Name] = []
        for record in records where !order.contains(record.recordType) { order.append(record.recordType) }
        let ordered = Self.fields(zip(records, fields).map { ($0.recordType, $1) }, visit)
        columns =
            [TableColumn("recordName")] + (answer.showsZones ? [TableColumn("zone")] : [])
            + ordered.map { TableColumn($0, order, visit) }
            + [TableColumn("modified")]
        width = String(columns.count)
        let headings = columns.map(\.name)
        let rows = zip(records, fields).map { record, values in
            (record.recordType, Row(record, values, ordered.map(\.name), headings, answer, visit: visit))
        }
        var groups = order.map { type in
            let own = rows.filter { $0.0 == type }.map(\.1)
            return Group(
                title: "\(type), \(Digits.count(own.count, "record"))",
                typeHref: visit.place.link("type", [("type", type.string)]),
                alike: visit.place.link("query", [("type", type.string)]), rows: own, missing: [])
        }
        let missing: [Missing] = answer.items.compactMap { recordID, result in
            guard case .failure(let error) = result else { return nil }
            return Missing(
                recordName: recordID.recordName.string, complaint: PageError(error),
                whereabouts: answer.whereabouts[recordID.recordName] ?? [])
        }
        if !missing.isEmpty {
            let title = answer.items.contains { $1 == .failure(.tooManyBytes) } ? "Not fetched" : "Not found"
            groups.append(Group(title: title, typeHref: nil, alike: nil, rows: [], missing: missing))
        }
        self.groups = groups
        caption = order.isEmpty ? "Names without records" : "Records of \(order.map(\.string).joined(separator: ", "))"
    }

    fileprivate struct Union {
        let name: Name
        var types: [String]
        let isNumber: Bool
        /// The number of record types that have it.
        let uses: Int
        let rank: Int
    }

    /// Every field in use. Fields that most types share come first, to put comparable values side by side.
    private static func fields(_ records: [(type: Name, values: [Name: FieldValue])], _ visit: Visit) -> [Union] {
        var types: [Name: Set<Name>] = [:]
        var wire: [Name: [String]] = [:]
        for record in records {
            for (name, value) in record.values {
                types[name, default: []].insert(record.type)
                if !(wire[name] ?? []).contains(value.typeLabel) { wire[name, default: []].append(value.typeLabel) }
            }
        }
        var ranks: [Name: Int] = [:]
        for type in Set(records.map(\.type)).sorted() {
            for (index, field) in QueryField.all(of: visit.schema?.types[type] ?? RecordType(name: type)).enumerated()
            where !field.isSystem {
                ranks[field.name] = min(ranks[field.name] ?? .max, index)
            }
        }
        return types.map { name, users in
            let written = (wire[name] ?? []).sorted()
            return Union(
                name: name, types: written, isNumber: written.allSatisfy { $0 == "INT64" || $0 == "DOUBLE" },
                uses: users.count, rank: ranks[name] ?? .max)
        }.sorted { left, right in
            if left.uses != right.uses { return left.uses > right.uses }
            return left.rank == right.rank ? left.name < right.name : left.rank < right.rank
        }
    }
}

extension TableColumn {
    /// A field of several types. Filters and edits must suit all of them.
    fileprivate init(_ union: FetchTable.Union, _ recordTypes: [Name], _ visit: Visit) {
        self.init(union.name.string)
        type = union.types.joined(separator: ", ")
        isNumber = union.isNumber
        let fields = recordTypes.compactMap { visit.schema?.types[$0]?.queryField(named: union.name) }
        if !fields.isEmpty, fields.allSatisfy({ !$0.comparators.isEmpty && !$0.allowedIndexes.isEmpty }) {
            field = union.name.string
        }
        let edits = Set(fields.map { visit.edit($0) })
        edit = edits.count == 1 ? edits.first ?? nil : edits.contains(nil) ? nil : "long"
    }
}

extension RecordRow<FetchTable.Cell> {
    fileprivate init(
        _ record: StoredRecord, _ values: [Name: FieldValue], _ names: [Name], _ headings: [String],
        _ answer: FetchAnswer, visit: Visit
    ) {
        let zoneID = record.recordID.zoneID
        let presenter = ValuePresenter(place: visit.place, zoneID: zoneID, links: answer.links, titles: answer.titles)
        let declared = visit.schema?.types[record.recordType]?.fields
        href = visit.place.link(toRecord: record.recordID.recordName, in: zoneID)
        recordName = record.recordID.recordName.string
        title = answer.titles[record.recordID]
        isTitled = false
        mark = answer.since[record.recordID]
        pick = visit.pick(record)
        let zone =
            answer.showsZones ? [ValueView(.text(visit.zoneName(zoneID)), note: visit.ownerName(zoneID))] : []
        let shown =
            zone + names.map { name in values[name].map { presenter.view($0, of: name) } ?? .blank }
            + [ValueView(.time(record.modified.timestamp))]
        let lacking = names.map { values[$0] == nil && declared != nil && declared?[$0] == nil }
        let areLacking = zone.map { _ in false } + lacking + [false]
        cells = zip(TableValue.row(shown, headings), areLacking).map { $1 ? .none : .value($0) }
    }
}

// MARK: - Asset files

/// Records with their asset files. Scripts download the files and show the progress of each
/// record, as CKFetchRecordsOperation reports it. Without scripts, the files are links.
struct AssetTable: ViewModel {
    struct Row: ViewModel {
        let recordName: String
        /// `nil` if the record was not found.
        let found: Found?
        let complaint: PageError?
        let whereabouts: [RecordTrace]
    }

    struct Found: ViewModel {
        let recordHref: String
        /// The zone, if records of all zones are shown.
        let zone: String?
        let type: String
        let typeHref: String
        /// The text for a record without files.
        let nothing: String?
        /// A single file, which is on the record's own line.
        let file: File?
        /// Several files, each on its own line below the record.
        let group: Group?
    }

    struct Group: ViewModel {
        /// The accessible label of the group.
        let label: String
        let isFile = false
        let count: String
        let size: String
        let files: [File]
    }

    struct File: ViewModel {
        let field: String
        let name: String
        let label: String
        let isFile = true
        let href: String
        let size: String
        let bytes: String
        let checksum: String
    }

    let rows: [Row]
    /// False for files in iCloud, whose checksums are of another kind than those that scripts compute.
    let isChecked: Bool
    let fileCount: Int
    let size: String

    init(_ answer: FetchAnswer, visit: Visit) throws {
        var count = 0
        var total: Int64 = 0
        rows = try answer.items.map { recordID, result in
            let name = recordID.recordName.string
            switch result {
            case .failure(let error):
                return Row(
                    recordName: name, found: nil, complaint: PageError(error),
                    whereabouts: answer.whereabouts[recordID.recordName] ?? [])
            case .success(let record):
                let assets = try record.fields.assets()
                count += assets.count
                total = assets.reduce(total) { $0.addingSaturated($1.asset.size) }
                return Row(
                    recordName: name, found: Found(record, assets, answer, visit: visit), complaint: nil,
                    whereabouts: [])
            }
        }
        isChecked = visit.connection == nil
        fileCount = count
        size = Digits.bytes(total)
    }
}

extension AssetTable.Found {
    fileprivate init(
        _ record: StoredRecord, _ assets: [(field: Name, asset: Asset)], _ answer: FetchAnswer, visit: Visit
    ) {
        var addresses = answer.links.map { links in assets.map { links.downloadURL(of: $0.asset, in: $0.field) } } ?? []
        if visit.connection != nil { addresses = ConnectedFile.addresses(of: assets, of: record.recordID, visit.place) }
        let files = zip(assets, addresses).map { AssetTable.File($0.asset, in: $0.field, href: $1) }
        let total = assets.reduce(Int64(0)) { $0.addingSaturated($1.asset.size) }
        recordHref = visit.place.link(toRecord: record.recordID.recordName, in: record.recordID.zoneID)
        zone = answer.showsZones ? visit.zoneName(record.recordID.zoneID) : nil
        type = record.recordType.string
        typeHref = visit.place.link("type", [("type", record.recordType.string)])
        nothing = files.isEmpty ? (DesiredKeys(visit.fields).names == nil ? "no assets" : "not requested") : nil
        file = files.count == 1 ? files.first : nil
        group =
            files.count > 1
            ? AssetTable.Group(
                label: "\(Digits.count(files.count, "asset")) of \(record.recordID.recordName)",
                count: Digits.count(files.count, "asset"),
                size: Digits.bytes(total), files: files) : nil
    }
}

extension AssetTable.File {
    fileprivate init(_ asset: Asset, in field: Name, href: String) {
        self.field = field.string
        name = asset.shownName(in: field)
        label = name
        self.href = href
        size = Digits.bytes(asset.size)
        bytes = String(asset.size)
        checksum = asset.fileChecksum
    }
}
