internal import AssetStore
internal import Console
internal import JSON
internal import Records

/// Records of one type in a table.
struct ResultTable: ViewModel {
    struct Column: ViewModel {
        let name: String
        /// The type as the API names it; `nil` for self-explanatory system fields.
        let type: String?
        /// `↑` or `↓` if the column is a sort key.
        let arrow: String?
        let isNumber: Bool
    }

    typealias Row = RecordRow<ValueView>

    /// The maximum number of columns for empty fields. Fields with a value on the page always have a column.
    static let columnLimit = 12

    let caption: String
    let columns: [Column]
    let rows: [Row]

    /// - Parameters:
    ///   - showsZones: true if the records may be from several zones.
    ///   - links: creates the download links of assets.
    init(_ records: [StoredRecord], of type: RecordType, form: QueryForm, showsZones: Bool, links: AssetLinks?, visit: Visit) throws {
        caption = "Records of type \(type.name)"
        let decoded = try records.map { record in
            Dictionary(try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        var fields = QueryField.all(of: type).filter { !$0.isSystem }
        if form.returnsSystemFieldsOnly { fields = [] }
        if !form.keys.isEmpty { fields = fields.filter { form.keys.contains($0.name) } }
        if fields.count > Self.columnLimit {
            let used = Set(decoded.flatMap(\.keys))
            fields = fields.filter { used.contains($0.name) }
        }
        let sorts = Dictionary(form.sorts.map { (type.key(named: $0.field), $0.isDescending ? "↓" : "↑") }, uniquingKeysWith: { first, _ in first })
        var columns = [Column(name: "recordName", type: nil, arrow: sorts[.system(.recordID)], isNumber: false)]
        if showsZones { columns.append(Column(name: "zone", type: nil, arrow: nil, isNumber: false)) }
        columns += fields.map { field in
            Column(
                name: field.name.string, type: field.definition.type.label, arrow: sorts[field.key], isNumber: field.definition.type.isNumber)
        }
        let system: [(SystemField, String)] = [(.createTime, "created"), (.modTime, "modified")]
        let shownSystem = system.filter { field, _ in field == .modTime || sorts[.system(field)] != nil || form.returnsSystemFieldsOnly }
        columns += shownSystem.map { field, name in Column(name: name, type: nil, arrow: sorts[.system(field)], isNumber: false) }
        self.columns = columns
        rows = zip(records, decoded).map { record, values in
            let zoneID = record.recordID.zoneID
            let presenter = ValuePresenter(place: visit.place, zoneID: zoneID, links: links)
            var cells: [ValueView] = []
            if showsZones { cells.append(ValueView(.text(visit.zoneName(zoneID)), note: visit.ownerName(zoneID))) }
            cells += fields.map { presenter.view(values[$0.name], of: $0.name) }
            cells += shownSystem.map { field, _ in ValueView(.time(field == .createTime ? record.created.timestamp : record.modified.timestamp)) }
            return Row(
                href: visit.place.link(toRecord: record.recordID.recordName, in: zoneID), recordName: record.recordID.recordName.string,
                pick: PickedRecord(record).text(in: visit.place), cells: cells)
        }
    }
}

extension FieldType {
    var isNumber: Bool { !isList && (valueType == .int64 || valueType == .double) }
}
