internal import RecordStore
internal import Records

/// Converts rows to records, and detects invalid rows.
struct RowConverter {
    private let plan: ImportPlan
    /// The record names so far, with their positions. This is the only state that grows with the number of rows.
    private var places: [Name: (file: Int, line: Int)] = [:]
    private let files: [ImportFile]
    /// The layout of the last row. Most files have one layout for all rows.
    private var layout: RowLayout

    init(_ plan: ImportPlan, files: [ImportFile]) {
        self.plan = plan
        self.files = files
        layout = RowLayout(of: [], for: plan)
    }

    struct Draft {
        /// `nil` if no column supplies the name.
        let recordName: Name?
        let parent: RecordOperation.Parent
        let fields: [Name: FieldInput]
        /// The fields for which the row has no value, but an empty cell or a null.
        let cleared: [Name]
        /// The approximate size, in bytes.
        let size: Int
    }

    /// - Throws: `BadRow` if the row is invalid.
    mutating func record(of row: Row, in file: Int) throws(BadRow) -> Draft {
        if !layout.fits(row) { layout = RowLayout(of: row.cells.map(\.column), for: plan) }
        if let code = row.value(at: layout.error) {
            throw BadRow("the row has no record, but the error \(code.shown)")
        }
        let recordName = try recordName(row)
        let parent = try parent(row)
        var fields = [Name: FieldInput](minimumCapacity: plan.fields.count)
        var cleared: [Name] = []
        var size = 0
        for (source, places) in zip(plan.fields, layout.fields) {
            guard let value = try value(of: source, at: places, in: row) else {
                if places.allSatisfy(row.isEmpty(at:)) { cleared.append(source.name) }
                continue
            }
            for case .reference(let reference) in value.elements { try check(reference.recordName) }
            fields[source.name] = FieldInput(value, isEncrypted: source.type.isEncrypted)
            size += source.name.utf8.count + value.roughSize
        }
        // The approximate size is never much larger than the exact one, so the expensive exact size is needed only near
        // the limit.
        if size > BatchModifier.recordSizeLimit / 2 {
            let text = FieldsText(fields.compactMap { name, input in input.field(named: name) })
            if text.bytes.count > BatchModifier.recordSizeLimit {
                throw BadRow(
                    "the record is too large: its fields have \(text.bytes.count) bytes, and the limit is \(BatchModifier.recordSizeLimit)"
                )
            }
        }
        if let recordName {
            if let taken = places[recordName] {
                let place = taken.file == file ? "line \(taken.line)" : "\(files[taken.file].path):\(taken.line)"
                throw BadRow("the record name '\(recordName)' is already used in \(place)")
            }
            places[recordName] = (file, row.line)
        }
        return Draft(recordName: recordName, parent: parent, fields: fields, cleared: cleared, size: size)
    }

    private func recordName(_ row: Row) throws(BadRow) -> Name? {
        guard let nameField = plan.nameField else { return nil }
        guard let cell = row.value(at: layout.name) else {
            throw BadRow("the row has no '\(nameField)' for the record name")
        }
        return try name(cell, of: nameField)
    }

    private func parent(_ row: Row) throws(BadRow) -> RecordOperation.Parent {
        guard let column = plan.parentField else { return .unchanged }
        guard let cell = row.value(at: layout.parent) else {
            return row.isEmpty(at: layout.parent) ? .cleared : .unchanged
        }
        return .record(try name(cell, of: column))
    }

    private func name(_ cell: Cell, of column: Name) throws(BadRow) -> Name {
        let name: Name
        switch cell {
        case .text(let text), .json(.string(let text)): name = Name(text)
        case .json(.integer(let integer)): name = Name(String(integer))
        case .json(let json): throw BadRow("'\(column)' is \(json.kind) and can't be a record name")
        }
        try check(name)
        return name
    }

    private func check(_ recordName: Name) throws(BadRow) {
        do { try NameRules.checkRecordName(recordName) } catch {
            throw BadRow((error as? RecordError)?.reason ?? "\(error)")
        }
    }

    private func value(of source: FieldSource, at places: [Int?], in row: Row) throws(BadRow) -> FieldValue? {
        switch source.origin {
        case .column(let column):
            guard let cell = row.value(at: places[0]) else { return nil }
            if let value = cell.value(as: source.type, field: source.name) { return value }
            throw BadRow(
                "'\(column)' is \(cell.shown), but the field '\(source.name)' has type \(source.type.schemaName)")
        case .coordinates(let latitude, let longitude):
            switch (row.value(at: places[0])?.number, row.value(at: places[1])?.number) {
            case (nil, nil): return nil
            case (let latitude?, let longitude?): return .location(Location(latitude: latitude, longitude: longitude))
            case (_?, nil): throw BadRow("the row has a '\(latitude)', but no '\(longitude)'")
            case (nil, _?): throw BadRow("the row has a '\(longitude)', but no '\(latitude)'")
            }
        }
    }
}

/// Maps the columns of a plan to the indices of cells, for all rows with the same columns. A missing column has no index.
private struct RowLayout {
    private let columns: [Name]
    let name: Int?
    let parent: Int?
    let error: Int?
    /// For each field of the plan, the index of its column, or of its latitude and its longitude.
    let fields: [[Int?]]

    init(of columns: [Name], for plan: ImportPlan) {
        self.columns = columns
        let places = Dictionary(zip(columns, columns.indices), uniquingKeysWith: { _, last in last })
        func place(_ column: Name?) -> Int? { column.flatMap { places[$0] } }
        (name, parent, error) = (place(plan.nameField), place(plan.parentField), place(plan.errorField))
        fields = plan.fields.map { source in
            switch source.origin {
            case .column(let column): [place(column)]
            case .coordinates(let latitude, let longitude): [place(latitude), place(longitude)]
            }
        }
    }

    func fits(_ row: Row) -> Bool {
        columns.count == row.cells.count && zip(columns, row.cells).allSatisfy { $0 == $1.column }
    }
}

extension Row {
    /// The cell at an index; `nil` if the index is `nil` or the cell is empty.
    fileprivate func value(at place: Int?) -> Cell? {
        guard let place, !cells[place].cell.isEmpty else { return nil }
        return cells[place].cell
    }

    /// True if the row has a cell at an index, and the cell is empty.
    fileprivate func isEmpty(at place: Int?) -> Bool { place.map { cells[$0].cell.isEmpty } ?? false }
}

/// The reason why a row is invalid.
struct BadRow: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

extension FieldInput {
    fileprivate func field(named name: Name) -> Field? {
        switch self {
        case .tagged(let value, _, let isEncrypted), .untagged(let value, let isEncrypted):
            Field(name: name, value: value, isEncrypted: isEncrypted)
        case .cleared: nil
        }
    }
}

extension FieldValue {
    /// The approximate size, in bytes.
    fileprivate var roughSize: Int {
        switch self {
        case .string(let string): string.utf8.count
        case .bytes(let bytes): bytes.count
        case .list(let elements, _): elements.reduce(0) { $0 + $1.roughSize }
        default: 32
        }
    }
}
