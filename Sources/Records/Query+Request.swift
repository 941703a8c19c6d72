public import JSON

// Queries in requests (Apple's reference page "Types and Dictionaries").

extension Query {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        self.init(
            recordType: try object.required("recordType", "a string", object.name("recordType")),
            filters: try (object.objects("filterBy") ?? []).map { try Filter($0) }, sorts: try (object.objects("sortBy") ?? []).map { try Sort($0) })
    }
}

extension Query.Filter {
    fileprivate init(_ object: RequestObject) throws {
        let fieldName = try object.fieldName()
        let comparatorName = try object.required("comparator", "a string", object.string("comparator"))
        guard let comparator = Comparator(rawValue: comparatorName) else {
            throw RecordError.unexpectedInput(
                "Unknown comparator '\(comparatorName)' in '\(object.place)'; known are \(Comparator.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let value = try object.required("fieldValue", "a value like {\"value\": …, \"type\": …}", object.value("fieldValue"))
        self.init(fieldName, comparator, try FieldInput(value, field: fieldName), distance: try object.number("distance"))
    }
}

extension Query.Sort {
    fileprivate init(_ object: RequestObject) throws {
        let fieldName = try object.fieldName()
        let location = try object.value("relativeLocation").map { json in
            guard case .location(let location)? = try FieldInput(json, field: "relativeLocation").value(declared: .location) else {
                throw object.unexpected("relativeLocation", "a location: an object with latitude and longitude", json)
            }
            return location
        }
        self.init(fieldName, ascending: try object.bool("ascending") ?? true, relativeLocation: location)
    }
}

extension RequestObject {
    /// The field of a filter or a sort, given by its own name or as a system field.
    fileprivate func fieldName() throws -> Name {
        if let name = try self.name("fieldName") { return name }
        let name = try required("fieldName", "a string (or 'systemFieldName')", self.name("systemFieldName"))
        guard let field = SystemField(named: name) else {
            throw RecordError(
                .badRequest,
                "Unknown system field '\(name)' in '\(place)'; known are \(SystemField.allCases.map(\.alias.string).joined(separator: ", "))")
        }
        return field.schemaName
    }

    /// The zone in a member, `nil` if the member is absent.
    public func zoneID(_ name: Name = "zoneID") throws -> ZoneID? {
        try object(name)?.asZoneID()
    }

    /// This object as a zone ID. Without a name, it is the default zone.
    public func asZoneID() throws -> ZoneID {
        ZoneID(zoneName: try name("zoneName") ?? ZoneID.defaultZoneName, ownerRecordName: try name("ownerRecordName"))
    }
}
