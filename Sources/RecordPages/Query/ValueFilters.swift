internal import Console
internal import RecordStore
internal import Records

// MARK: - Filters by a value

/// Filters by the value of a record: the menu of a cell, and the counted values.
extension QueryForm {
    /// The URL parameter with the field whose value becomes a filter. The record is in ``PickedRecord/fieldName``.
    static let alikeName = "alike"

    /// Longer texts become a filter on their beginning, because a URL holds the filter. In UTF-8 bytes.
    fileprivate static let textLimit = 1000
    fileprivate static let beginningLength = 100
    /// The distance of a filter on a place, in metres.
    fileprivate static let distance = "1000"

    /// The form with one more filter, at the first page.
    func narrowed(by row: Filter) -> QueryForm {
        changed { form in
            // A scalar can't equal two values, so the new filter replaces the old one. A list can contain both.
            if let index = form.filters.firstIndex(where: { $0.field == row.field && $0.comparator == .equals }) {
                form.filters[index] = row
            } else if form.filters.count < Self.rowLimit {
                form.filters.append(row)
            }
        }
    }

    /// The redirect to the query for the records with the same value as a given one; `nil` for other requests.
    /// - Throws: `RecordError` BAD_REQUEST if no filter finds the value, or NOT_FOUND if the record is gone.
    func alike(_ visit: Visit) async throws -> Answer? {
        guard let name = visit.fields.text(Self.alikeName).map({ Name($0) }) else { return nil }
        guard let typeName = type,
            let field = (visit.schema?.types[typeName] ?? RecordType(name: typeName)).queryField(named: name)
        else {
            throw RecordError(.badRequest, "The type \(type?.string ?? "") has no field '\(name)' to filter by")
        }
        guard let picked = visit.fields.text(PickedRecord.fieldName).flatMap({ PickedRecord($0, in: visit.place) })
        else {
            throw RecordError(
                .badRequest,
                "The parameter '\(PickedRecord.fieldName)' does not name a record: open the menu of a cell again")
        }
        let fetched = try await visit.measure {
            try await visit.database.fetch([picked.recordID], desiredKeys: field.isSystem ? [] : [field.name])
        }
        guard let record = try fetched.first?.get(), let row = try Filter(the: field, of: record) else {
            throw RecordError(
                .badRequest,
                "The record '\(picked.recordID.recordName)' has no value of '\(name)' that a filter could find")
        }
        return .redirect(visit.place.link("query", narrowed(by: row).parameters))
    }
}

extension QueryForm.Filter {
    /// A filter that finds the record by its value of a field; `nil` if it has none, or files.
    fileprivate init?(the field: QueryField, of record: StoredRecord) throws {
        guard let value = try field.value(of: record), !value.elements.isEmpty,
            let usual = field.comparators.first?.comparator
        else { return nil }
        let text = QueryForm.text(of: FieldInput(value), as: field)
        self.init(field: field.name, comparator: .equals, value: text, distance: "")
        if field.definition.type.isList {
            comparator = field.comparators.contains { $0.comparator == .listContainsAll } ? .listContainsAll : usual
        } else if field.definition.type.valueType == .location {
            (comparator, distance) = (.near, QueryForm.distance)
        } else if case .string(let string) = value, string.utf8.count > QueryForm.textLimit {
            (comparator, self.value) = (
                .beginsWith, QueryForm.aloneText(String(string.prefix(QueryForm.beginningLength)))
            )
        }
    }
}

extension QueryField {
    /// The value of the field in a record; `nil` if it has none.
    func value(of record: StoredRecord) throws -> FieldValue? {
        guard case .system(let system) = key else { return try record.fields.values(of: [name])[name] }
        return switch system {
        case .recordID: .reference(Reference(recordName: record.recordID.recordName))
        case .createTime: .timestamp(record.created.timestamp)
        case .modTime: .timestamp(record.modified.timestamp)
        case .createdBy: .reference(Reference(recordName: record.created.userRecordName))
        case .modifiedBy: .reference(Reference(recordName: record.modified.userRecordName))
        case .parent: record.parent.map { .reference(Reference(recordName: $0)) }
        default: nil
        }
    }
}
